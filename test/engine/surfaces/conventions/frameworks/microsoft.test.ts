/**
 * Semantic Kernel (microsoft/semantic-kernel `dotnet/src/InternalUtilities/src/Diagnostics/
 * ModelDiagnostics.cs`, `python/semantic_kernel/utils/telemetry`), Agent Framework
 * (microsoft/agent-framework `python/packages/core/agent_framework/observability.py`),
 * Microsoft.Extensions.AI (dotnet/extensions `OpenTelemetryChatClient.cs`) and AutoGen
 * (microsoft/autogen `autogen_core/_telemetry/_genai.py`). Contents are invented.
 */
import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../../../../src/model/json.ts';
import { log, operation, span } from '../../../steps.ts';
import { extractSurfaces } from '../../extract-surfaces.ts';
import { read, withEvent } from '../../read.ts';

const call = { id: '1', type: 'function', function: { name: 'search', arguments: '{"q":"rain"}' } };
const called = ['tool_name: search', 'tool_args: {"q":"rain"}', 'tool_args: rain'];

describe('Semantic Kernel, .NET', () => {
  const event = (name: string, content: JsonObject) =>
    withEvent(operation('chat.completions'), name, {
      'gen_ai.system': 'openai',
      'gen_ai.event.content': JSON.stringify(content),
    });

  it.each<[string, string, JsonObject, string[]]>([
    [
      'a user',
      'gen_ai.user.message',
      { role: 'user', content: 'Will it rain?' },
      ['step_input: Will it rain?'],
    ],
    ['the operator', 'gen_ai.system.message', { role: 'system', content: 'Be brief.' }, []],
    ['a developer', 'gen_ai.developer.message', { role: 'developer', content: 'Be brief.' }, []],
    [
      'a tool',
      'gen_ai.tool.message',
      { role: 'tool', content: 'at noon', id: '1' },
      ['tool_result: at noon'],
    ],
    [
      'a choice that calls a tool',
      'gen_ai.choice',
      { index: 0, message: { role: 'assistant', content: null }, tool_calls: [call] },
      called,
    ],
    [
      'a choice',
      'gen_ai.choice',
      { index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' },
      ['agent_output: Yes.'],
    ],
    [
      'somebody else',
      'gen_ai.planner.message',
      { role: 'planner', content: 'Look first.' },
      ['step_input: Look first.'],
    ],
  ])('%s', (_what, name, content, expected) => {
    expect(read(event(name, content))).toEqual(expected);
  });

  it('a function, and an agent with messages of OpenAI', () => {
    const tool = operation('execute_tool', {
      'gen_ai.tool.name': 'weather-search',
      'gen_ai.tool.description': 'Searches.',
      'gen_ai.tool.call.arguments': '{"q":"rain"}',
      'gen_ai.tool.call.result': 'at noon',
    });
    const agent = operation('invoke_agent', {
      'gen_ai.agent.name': 'weather',
      'gen_ai.input.messages':
        '[{"role":"user","name":"guest","content":"Will it rain?","tool_calls":[]}]',
      'gen_ai.output.messages': JSON.stringify([
        { role: 'assistant', name: 'weather', content: 'Yes.', tool_calls: [call] },
      ]),
    });
    expect(read(tool, agent)).toEqual([
      'tool_name: weather-search',
      ...called.slice(1),
      'tool_result: at noon',
      'step_input: Will it rain?',
      'agent_output: Yes.',
      ...called,
    ]);
  });
});

describe('Semantic Kernel, Python', () => {
  const record = (name: string, body: JsonValue) =>
    log({
      attributes: { 'event.name': name, 'gen_ai.system': 'openai', chat_message_index: 0 },
      body,
    });

  it('messages in strings, which are also read whole', () => {
    const message = '{"role":"user","content":"Will it rain?"}';
    expect(read(record('gen_ai.user.message', message))).toEqual([
      'step_input: Will it rain?',
      `step_input: ${message}`,
      'step_input: user\nWill it rain?',
    ]);
    const system = '{"role":"system","content":"Be brief."}';
    expect(read(record('gen_ai.system.message', system))).toEqual([]);
  });

  it('a choice', () => {
    const choice = { message: { role: 'assistant', tool_calls: [call] }, index: 0 };
    expect(read(record('gen_ai.choice', JSON.stringify(choice))).slice(0, 3)).toEqual(called);
  });

  it('the prompt of a text completion', () => {
    expect(read(record('gen_ai.prompt', 'Once upon a time'))).toEqual([
      'step_input: Once upon a time',
    ]);
  });

  it('an agent whose messages hold items', () => {
    const items = [{ content_type: 'text', text: 'Will it rain?' }];
    const step = operation('invoke_agent', {
      'gen_ai.input.messages': JSON.stringify([{ role: 'user', items }]),
    });
    expect(read(step)).toContain('step_input: Will it rain?');
  });
});

describe('Agent Framework, Microsoft.Extensions.AI', () => {
  const input = [
    { role: 'developer', parts: [{ type: 'text', content: 'Be brief.' }] },
    { role: 'user', parts: [{ type: 'text', content: 'Will it rain?' }] },
    {
      role: 'tool',
      parts: [{ type: 'tool_call_response', id: '1', response: 'at noon' }],
    },
  ];
  const output = [
    {
      role: 'assistant',
      parts: [
        { type: 'text', content: 'Wait.' },
        { type: 'tool_call', id: '1', name: 'search', arguments: { q: 'rain' } },
        { type: 'custom', content: 'of another kind' },
      ],
      finish_reason: 'tool_calls',
    },
  ];
  const span1 = operation('chat', {
    'gen_ai.input.messages': JSON.stringify(input),
    'gen_ai.output.messages': JSON.stringify(output),
    'gen_ai.system_instructions': '[{"type":"text","content":"Be brief."}]',
    'gen_ai.tool.definitions': '[{"name":"search"}]',
  });
  const found = [
    'step_input: Will it rain?',
    'tool_result: at noon',
    'agent_output: Wait.',
    ...called,
    'agent_output: custom',
    'agent_output: of another kind',
  ];

  it('messages on the span', () => {
    expect(read(span1)).toEqual(found);
  });

  it('log records under old names are read alike', () => {
    const names = ['gen_ai.system.message', 'gen_ai.user.message', 'gen_ai.tool.message'];
    const records = [...input, ...output].map((body, index) =>
      log({ attributes: { 'event.name': names[index] ?? 'gen_ai.choice' }, body }),
    );
    expect(read(...records)).toEqual(found);
  });

  it('workflows have kinds and no text', () => {
    const names = ['workflow.run', 'executor.process writer', 'message.send', 'workflow.build'];
    const steps = names.map((name) => span({ name, attributes: { 'executor.id': 'writer' } }));
    expect(extractSurfaces(steps)).toEqual({
      texts: [],
      exceeded: 0,
      kinds: ['chain', 'chain', 'other', 'other'],
    });
  });
});

describe('AutoGen', () => {
  it('has names only', () => {
    const step = operation('execute_tool', {
      'gen_ai.system': 'autogen',
      'gen_ai.tool.name': 'search',
      'gen_ai.tool.description': 'Searches.',
    });
    expect(read(step)).toEqual(['tool_name: search']);
  });
});
