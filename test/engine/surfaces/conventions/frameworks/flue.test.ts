/**
 * Flue as its source has it (`@flue/opentelemetry`, `createOpenTelemetryObserver`). Contents are
 * invented.
 */
import { expect, it } from 'vitest';
import type { JsonObject } from '../../../../../src/model/json.ts';
import type { Step } from '../../../../../src/model/steps.ts';
import { span } from '../../../steps.ts';
import { extractSurfaces } from '../../extract-surfaces.ts';
import { read } from '../../read.ts';

/** A span of Flue with the ids that all of them have. */
function observed(name: string, attributes: JsonObject): Step {
  return span({
    name,
    scopeName: '@flue/opentelemetry',
    attributes: {
      'flue.run_id': 'x',
      'flue.harness.name': 'x',
      'flue.session.name': 'x',
      'flue.operation.id': 'x',
      'flue.task.id': 'x',
      'flue.turn.id': 'x',
      ...attributes,
    },
  });
}

it('a turn of the model, without the system prompt and the tools', () => {
  const input = {
    systemPrompt: 'operator',
    messages: [
      { role: 'user', content: 'in' },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'why' },
          { type: 'toolCall', id: '1', name: 'run', arguments: { a: 'ls' } },
        ],
      },
      {
        role: 'toolResult',
        toolCallId: '1',
        toolName: 'run',
        content: [{ type: 'text', text: 'done' }],
        isError: false,
      },
    ],
    tools: [{ name: 'x', description: 'x' }],
  };
  const output = { role: 'assistant', content: [{ type: 'text', text: 'out' }] };
  const turn = observed('gen_ai.generate', {
    'gen_ai.operation.name': 'chat',
    'flue.turn.purpose': 'agent',
    'flue.turn.input': JSON.stringify(input),
    'flue.turn.output': JSON.stringify(output),
  });
  expect(extractSurfaces([turn]).kinds).toEqual(['llm']);
  expect(read(turn)).toEqual([
    'step_input: in',
    'agent_output: why',
    'tool_name: run',
    'tool_args: {"a":"ls"}',
    'tool_args: ls',
    'tool_result: done',
    'agent_output: out',
  ]);
});

it('a turn with more beside its messages hides nothing; cut, it is read by author', () => {
  const more = '{"messages":[],"more":"x"}';
  const turn = (input: string) => observed('gen_ai.generate', { 'flue.turn.input': input });
  expect(read(turn(more))).toEqual(['step_input: x']);
  const cut = '{"messages":[{"role":"user","content":"one\\ntwo';
  expect(read(turn(cut))).toEqual(['step_input: one\ntwo']);
});

it('a tool', () => {
  const tool = observed('flue.tool run', {
    'flue.tool.name': 'run',
    'flue.tool.call_id': 'x',
    'flue.tool.arguments': '{"a":"ls"}',
    'flue.tool.result': '{"content":[{"type":"text","text":"done"}]}',
  });
  expect(extractSurfaces([tool]).kinds).toEqual(['tool']);
  expect(read(tool)).toEqual([
    'tool_name: run',
    'tool_args: {"a":"ls"}',
    'tool_args: ls',
    'tool_result: {"content":[{"type":"text","text":"done"}]}',
    'tool_result: text\ndone',
  ]);
});

it('a workflow, an operation and a task of another agent', () => {
  const workflow = observed('flue.workflow daily', {
    'flue.workflow.name': 'daily',
    'flue.workflow.payload': '{"q":"in"}',
    'flue.workflow.result': 'out',
  });
  const operation = observed('flue.operation prompt', {
    'flue.operation.kind': 'prompt',
    'flue.operation.result': 'done',
  });
  const task = observed('flue.task helper', {
    'flue.task.agent': 'helper',
    'flue.task.cwd': '/x',
    'flue.task.prompt': 'do',
    'flue.task.result': 'did',
  });
  expect(extractSurfaces([workflow, operation, task]).kinds).toEqual(['agent', 'agent', 'agent']);
  expect(read(workflow, operation, task)).toEqual([
    'step_input: {"q":"in"}',
    'step_input: in',
    'agent_output: out',
    'agent_output: done',
    'step_input: do',
    'agent_output: did',
  ]);
});

it("the program's log is not matched", () => {
  const events = [{ name: 'flue.log', attributes: { 'flue.log.message': 'x' } }];
  expect(
    read({ ...observed('flue.compaction', { 'flue.compaction.reason': 'x' }), events }),
  ).toEqual([]);
});
