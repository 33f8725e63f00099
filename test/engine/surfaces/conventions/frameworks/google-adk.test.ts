/**
 * Google's Agent Development Kit (google/adk-python `src/google/adk/telemetry/tracing.py`) and
 * google-genai under OpenTelemetry (opentelemetry-python-contrib
 * `opentelemetry-instrumentation-google-genai`, `tool_call_wrapper.py`, and its log events). Contents
 * are invented.
 */
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../../src/model/json.ts';
import { log, span } from '../../../steps.ts';
import { extractSurfaces } from '../../extract-surfaces.ts';
import { read } from '../../read.ts';

const adk = (name: string, attributes: JsonObject) =>
  span({
    scopeName: 'gcp.vertex.agent',
    name,
    attributes: { 'gcp.vertex.agent.event_id': 'e-1', ...attributes },
  });

const contents = [
  { role: 'user', parts: [{ text: 'Will it rain?' }] },
  { role: 'model', parts: [{ function_call: { id: '1', name: 'search', args: { q: 'rain' } } }] },
  {
    role: 'user',
    parts: [{ function_response: { id: '1', name: 'search', response: { result: 'at noon' } } }],
  },
];
const requestTexts = [
  'step_input: Will it rain?',
  'tool_name: search',
  'tool_args: {"q":"rain"}',
  'tool_args: rain',
  'tool_result: {"result":"at noon"}',
  'tool_result: at noon',
];
const request = JSON.stringify({
  model: 'gemini',
  config: { system_instruction: 'Be brief.', tools: [{ function_declarations: [] }] },
  contents,
});

describe('Agent Development Kit', () => {
  it('a call of the model: contents by author, no instruction', () => {
    const step = adk('call_llm', {
      'gen_ai.system': 'gcp.vertex.agent',
      'gen_ai.request.model': 'gemini',
      'gcp.vertex.agent.llm_request': request,
      'gcp.vertex.agent.llm_response': JSON.stringify({
        content: { parts: [{ text: 'Yes.' }], role: 'model' },
        finish_reason: 'STOP',
        usage_metadata: { prompt_token_count: 3 },
      }),
    });
    expect(read(step)).toEqual([...requestTexts, 'agent_output: Yes.']);
  });

  it('a request without contents has no text', () => {
    const bare = '{"model":"gemini","config":{"system_instruction":"Be brief."},"contents":[]}';
    expect(read(adk('call_llm', { 'gcp.vertex.agent.llm_request': bare }))).toEqual([]);
  });

  it('an answer with unknown members is read whole', () => {
    const answer = JSON.stringify({
      content: { role: 'model', parts: [{ text: 'Yes.' }] },
      grounding_metadata: { web_search_queries: ['rain tomorrow'] },
    });
    expect(read(adk('call_llm', { 'gcp.vertex.agent.llm_response': answer }))).toEqual([
      'agent_output: Yes.',
      'agent_output: rain tomorrow',
    ]);
  });

  it('a tool: its arguments and response; empty marks are no text', () => {
    const step = adk('execute_tool search', {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'search',
      'gen_ai.tool.description': 'Searches.',
      'gen_ai.tool.type': 'FunctionTool',
      'gen_ai.tool.call.id': '<not specified>',
      'gcp.vertex.agent.llm_request': '{}',
      'gcp.vertex.agent.llm_response': '{}',
      'gcp.vertex.agent.tool_call_args': '{"q":"rain"}',
      'gcp.vertex.agent.tool_response': '{"result":"at noon"}',
    });
    expect(read(step)).toEqual([...requestTexts.slice(2), 'tool_name: search']);
  });

  it('text withheld, and tools merged', () => {
    const withheld = adk('execute_tool search', {
      'gcp.vertex.agent.tool_call_args': {},
      'gcp.vertex.agent.tool_response': '{}',
    });
    expect(read(withheld)).toEqual([]);
    const merged = adk('execute_tool (merged)', {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': '(merged tools)',
      'gcp.vertex.agent.tool_call_args': 'N/A',
      'gcp.vertex.agent.tool_response': '<not serializable>',
    });
    expect(read(merged)).toEqual(['tool_name: (merged tools)']);
  });

  it('data sent to a live agent', () => {
    const data = JSON.stringify(contents.slice(0, 1));
    expect(read(adk('send_data', { 'gcp.vertex.agent.data': data }))).toEqual([
      'step_input: Will it rain?',
    ]);
  });

  it('have kinds', () => {
    const steps = ['invocation', 'call_llm'].map((name) => adk(name, {}));
    const agent = adk('invoke_agent weather', { 'gen_ai.operation.name': 'invoke_agent' });
    expect(extractSurfaces([...steps, agent]).kinds).toEqual(['agent', 'llm', 'agent']);
    expect(extractSurfaces([span({ name: 'invocation' })]).kinds).toEqual(['other']);
  });
});

describe('google-genai', () => {
  it('a tool span: one attribute per parameter', () => {
    const step = span({
      name: 'execute_tool search',
      attributes: {
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': 'search',
        'code.function.name': 'search',
        'code.module': 'weather',
        'code.function.parameters.q.type': 'str',
        'code.function.parameters.q.value': 'rain',
        'code.function.parameters.days.type': 'dict',
        'code.function.parameters.days.value': '{"from":"today"}',
        'code.function.return.type': 'str',
        'code.function.return.value': 'at noon',
      },
    });
    expect(read(step)).toEqual([
      'tool_args: rain',
      'tool_args: {"from":"today"}',
      'tool_args: today',
      'tool_result: at noon',
      'tool_name: search',
    ]);
  });

  it('a tool span of later versions: the same keys inside the arguments', () => {
    const texts =
      '{"code.function.parameters.q.type":"str","code.function.parameters.q.value":"rain"}';
    const step = span({
      attributes: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.call.arguments': texts },
    });
    expect(read(step)).toEqual([`tool_args: ${texts}`, 'tool_args: str\nrain']);
  });

  it('log events whose content is a whole Content', () => {
    const said = (name: string, content: JsonObject | string) =>
      log({ name, body: { index: 0, content, finish_reason: 'STOP' } });
    expect(
      read(
        said('gen_ai.system.message', 'Be brief.'),
        said('gen_ai.user.message', { role: 'user', parts: [{ text: 'Will it rain?' }] }),
        said('gen_ai.choice', { role: 'model', parts: [{ text: 'Yes.' }] }),
        said('gen_ai.user.message', '<elided>'),
      ),
    ).toEqual(['step_input: Will it rain?', 'agent_output: Yes.']);
  });
});
