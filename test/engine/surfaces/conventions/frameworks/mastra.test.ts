/**
 * Mastra's OpenTelemetry exporter as its source has it (mastra-ai/mastra
 * `observability/otel-exporter/src/gen-ai-semantics.ts`). Contents are invented.
 */
import { expect, it } from 'vitest';
import type { JsonObject } from '../../../../../src/model/json.ts';
import type { Step } from '../../../../../src/model/steps.ts';
import { span } from '../../../steps.ts';
import { extractSurfaces } from '../../extract-surfaces.ts';
import { read } from '../../read.ts';

function exported(type: string, operation: string, attributes: JsonObject): Step {
  return span({
    attributes: { 'mastra.span.type': type, 'gen_ai.operation.name': operation, ...attributes },
  });
}

it('an agent: messages by author, and the values as they were written', () => {
  const step = exported('agent_run', 'invoke_agent', {
    'mastra.agent_run.input': '[{"role":"user","content":"in"}]',
    'mastra.agent_run.output': '{"text":"out","files":[]}',
    'mastra.agent_run.max_steps': 5,
    'gen_ai.agent.name': 'x',
    'gen_ai.system_instructions': 'operator',
    'gen_ai.tool.definitions': '["x"]',
    'gen_ai.conversation.id': 'x',
  });
  expect(read(step)).toEqual([
    'step_input: in',
    'step_input: [{"role":"user","content":"in"}]',
    'step_input: user\nin',
    'agent_output: out',
    'agent_output: {"text":"out","files":[]}',
  ]);
});

it('models and tools are in the standard attributes', () => {
  const model = exported('model_generation', 'chat', {
    'gen_ai.input.messages': '[{"role":"user","parts":[{"type":"text","content":"in"}]}]',
    'gen_ai.output.messages': '[{"role":"assistant","parts":[{"type":"text","content":"out"}]}]',
  });
  expect(read(model)).toEqual(['step_input: in', 'agent_output: out']);
  const tool = exported('mcp_tool_call', 'execute_tool', {
    'gen_ai.tool.name': 'run',
    'gen_ai.tool.description': 'x',
    'gen_ai.tool.call.arguments': '{"a":"ls"}',
    'gen_ai.tool.call.result': 'done',
    'server.address': 'x',
  });
  expect(read(tool)).toEqual([
    'tool_name: run',
    'tool_args: {"a":"ls"}',
    'tool_args: ls',
    'tool_result: done',
  ]);
});

it.each([
  ['workflow_run', 'chain', ['step_input: in', 'step_output: out']],
  ['workflow_step', 'chain', ['step_input: in', 'step_output: out']],
  ['model_step', 'llm', ['step_input: in', 'agent_output: out']],
  ['processor_run', 'other', ['step_input: in', 'step_output: out']],
  ['generic', 'other', ['step_input: in', 'step_output: out']],
  ['rag_embedding', 'embedding', ['step_input: in']],
])('%s', (type, kind, expected) => {
  const step = exported(type, type, {
    [`mastra.${type}.input`]: 'in',
    [`mastra.${type}.output`]: 'out',
  });
  expect(extractSurfaces([step]).kinds).toEqual([kind]);
  expect(read(step)).toEqual(expected);
});

it('truncated JSON is read as it is', () => {
  const cut = '[{"role":"user","content":"one\\ntwo';
  expect(read(exported('agent_run', 'invoke_agent', { 'mastra.agent_run.input': cut }))).toEqual([
    `step_input: ${cut}`,
    'step_input: [{"role":"user","content":"one\ntwo',
  ]);
});

it('an error message of a tool', () => {
  const tool = exported('tool_call', 'execute_tool', { 'error.type': 'X', 'error.message': 'bad' });
  expect(read(tool)).toEqual(['tool_result: bad']);
});
