/**
 * OpenLIT (openlit/openlit `sdk/python/src/openlit/semcov/__init__.py`): its keys beside those of
 * OpenTelemetry GenAI, and MCP. Contents are invented.
 */
import { expect, it, test } from 'vitest';
import { runFactsOf } from '../../../../../src/engine/surfaces/reader/run-facts.ts';
import { operation, span } from '../../../steps.ts';
import { extractSurfaces } from '../../extract-surfaces.ts';
import { read } from '../../read.ts';

test.each([
  ['gen_ai.agent.human_input', 'step_input'],
  ['gen_ai.retrieval.query', 'step_input'],
  ['gen_ai.framework.query.text', 'step_input'],
  ['gen_ai.message.content', 'step_input'],
  ['gen_ai.agent.action.tool', 'tool_name'],
  ['gen_ai.agent.action.tool_input', 'tool_args'],
  ['gen_ai.tool.args', 'tool_args'],
  ['gen_ai.tool.input', 'tool_args'],
  ['gen_ai.tool.output', 'tool_result'],
  ['gen_ai.tool.result', 'tool_result'],
  ['gen_ai.agent.actual_output', 'agent_output'],
  ['gen_ai.agent.final_result', 'agent_output'],
  ['gen_ai.agent.finish.output', 'agent_output'],
  ['gen_ai.content.reasoning', 'agent_output'],
])('%s is %s', (key, surface) => {
  expect(read(span({ attributes: { [key]: 'a hat' } }))).toEqual([`${surface}: a hat`]);
});

it.each([
  ['workflow', 'step_output'],
  ['agent', 'agent_output'],
])('%s: what went in and what came out', (name, surface) => {
  const step = operation(name, {
    'gen_ai.workflow.input': 'go',
    'gen_ai.workflow.output': 'done',
  });
  expect(read(step)).toEqual(['step_input: go', `${surface}: done`]);
});

it('calls of the model', () => {
  const chat = operation('chat', {
    'gen_ai.response.tool_calls':
      '[{"id":"1","type":"function","function":{"name":"search","arguments":"hat"}}]',
  });
  expect(read(chat)).toEqual(['tool_name: search', 'tool_args: hat']);
});

it('prompt and completion as events of a span', () => {
  const chat = {
    ...operation('chat'),
    events: [
      { name: 'gen_ai.content.prompt', attributes: { 'gen_ai.prompt': 'user: a hat' } },
      { name: 'gen_ai.content.completion', attributes: { 'gen_ai.completion': 'no' } },
    ],
  };
  expect(read(chat)).toEqual(['step_input: user: a hat', 'agent_output: no']);
});

it('an MCP call: the payload that repeats it is not read', () => {
  const call = span({
    attributes: {
      'mcp.method': 'tools/call',
      'mcp.tool.name': 'search',
      'mcp.tool.description': 'Searches.',
      'mcp.tool.arguments': '{"q":"hat"}',
      'mcp.tool.result': 'no hats',
      'mcp.request.payload': '{"method":"tools/call","params":{}}',
      'mcp.response.payload': '{"result":"no hats at all"}',
    },
  });
  expect(extractSurfaces([call]).kinds).toEqual(['tool']);
  expect(read(call)).toEqual([
    'tool_name: search',
    'tool_args: {"q":"hat"}',
    'tool_args: hat',
    'tool_result: no hats',
  ]);
});

it('an MCP call with a payload only', () => {
  const call = span({
    attributes: { 'mcp.method': 'tools/call', 'mcp.params': '{"q":"hat"}', 'mcp.result': 'none' },
  });
  expect(read(call)).toEqual(['tool_args: {"q":"hat"}', 'tool_args: hat', 'tool_result: none']);
});

it('how an agent was set up is no text of the run', () => {
  const agent = operation('agent', {
    'gen_ai.agent.role': 'planner',
    'gen_ai.agent.goal': 'plans',
    'gen_ai.agent.instructions': 'You are old.',
    'gen_ai.tool.schema': '{"type":"object"}',
  });
  expect(read(agent)).toEqual([]);
});

it('a call under `usingAttributes`, as 1.15 sends it: the run has its session and user', () => {
  const call = span({
    name: 'chat gpt-4o',
    // Its OpenAI instrumentation names another scope.
    scopeName: '@openlit/instrumentation-vllm',
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'gpt-4o',
      'gen_ai.input.messages': '[{"role":"user","parts":[{"type":"text","content":"hello"}]}]',
      'session.id': 's-1',
      'user.id': 'u-1',
    },
  });
  expect(read(call)).toEqual(['step_input: hello']);
  const facts = runFactsOf([call], extractSurfaces([call]).kinds, ['step_input'], 'completed');
  expect(facts).toMatchObject({ sessionId: 's-1', userId: 'u-1', model: 'gpt-4o' });
});
