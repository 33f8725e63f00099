/**
 * Mastra's OpenTelemetry exporter as its source has it (mastra-ai/mastra
 * `observability/otel-exporter/src/gen-ai-semantics.ts`), and the spans of a model's loop as version
 * 1.71 sent them. Contents are invented.
 */
import { describe, expect, it } from 'vitest';
import { runFactsOf } from '../../../../../src/engine/surfaces/reader/run-facts.ts';
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

it('an agent: messages by author, and the answer as it was written', () => {
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
  ['model_generation', 'llm', ['step_input: in', 'agent_output: out']],
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

it('truncated JSON is read by author', () => {
  const cut = '[{"role":"user","content":"one\\ntwo';
  expect(read(exported('agent_run', 'invoke_agent', { 'mastra.agent_run.input': cut }))).toEqual([
    'step_input: one\ntwo',
  ]);
});

it('an error message of a tool', () => {
  const tool = exported('tool_call', 'execute_tool', { 'error.type': 'X', 'error.message': 'bad' });
  expect(read(tool)).toEqual(['tool_result: bad']);
});

describe('the loop around model calls', () => {
  const call = { toolCallId: '1', toolName: 'run', args: { a: 'ls' } };
  const metadata = { 'mastra.metadata.userId': 'u', 'mastra.metadata.sessionId': 's' };
  const generation = exported('model_generation', 'model_generation', {
    'mastra.model_generation.input': JSON.stringify({
      messages: [
        { role: 'system', content: 'operator' },
        { role: 'user', content: [{ type: 'text', text: 'in', providerOptions: { x: {} } }] },
      ],
    }),
    'mastra.model_generation.output': JSON.stringify({
      files: [],
      reasoning: [{ type: 'reasoning', text: 'why' }],
      reasoningText: 'why',
      sources: [],
      text: 'out',
      warnings: [],
      toolCalls: [call],
    }),
    ...metadata,
  });

  it('the whole: each text by its author', () => {
    expect(read(generation)).toEqual([
      'step_input: in',
      'agent_output: why',
      'agent_output: out',
      'tool_name: run',
      'tool_args: {"a":"ls"}',
      'tool_args: ls',
    ]);
  });

  it('a step: without the marks for calls and results', () => {
    const step = exported('model_step', 'agent_step', {
      'mastra.model_step.input': JSON.stringify([
        { role: 'system', content: 'operator' },
        { role: 'user', content: 'in' },
        { role: 'assistant', content: '[reasoning][tool: run] [tool: run_2]' },
        { role: 'tool', content: '[tool-result: run]' },
        { role: 'user', content: '[tool: run] and more' },
      ]),
      'mastra.model_step.output': JSON.stringify({ text: '', toolCalls: [call] }),
    });
    expect(read(step)).toEqual([
      'step_input: in',
      'step_input: [tool: run] and more',
      'tool_name: run',
      'tool_args: {"a":"ls"}',
      'tool_args: ls',
    ]);
  });

  it('chunks: a text, a call, a result', () => {
    const chunk = (output: JsonObject, more: JsonObject = {}) =>
      exported('model_chunk', 'model_chunk', {
        'mastra.model_chunk.output': JSON.stringify(output),
        ...more,
      });
    const { args, ...named } = call;
    expect(read(chunk({ text: 'out' }))).toEqual(['agent_output: out']);
    expect(read(chunk({ ...named, toolInput: args }))).toEqual([
      'tool_name: run',
      'tool_args: {"a":"ls"}',
      'tool_args: ls',
    ]);
    expect(read(chunk({ page: 'done' }, { 'mastra.metadata.toolCallId': '1' }))).toEqual([
      'tool_result: {"page":"done"}',
      'tool_result: done',
    ]);
  });

  it('the user and the session are metadata', () => {
    const facts = runFactsOf([generation], ['llm'], ['step_input'], 'completed');
    expect(facts).toMatchObject({ userId: 'u', sessionId: 's' });
  });
});

it('an agent’s input with a system message is read by author; a typed one is a user’s', () => {
  const input = (value: string) =>
    read(exported('agent_run', 'invoke_agent', { 'mastra.agent_run.input': value }));
  const system = { role: 'system', content: 'obey' };
  expect(input(JSON.stringify([system, { role: 'user', content: 'in' }]))).toEqual([
    'step_input: in',
  ]);
  expect(input(JSON.stringify(system))).toEqual([
    `step_input: ${JSON.stringify(system)}`,
    'step_input: system\nobey',
  ]);
});
