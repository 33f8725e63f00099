/** Products that are read from a few keys of their own: each text is on its surface. */
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../src/model/json.ts';
import type { Step } from '../../../../src/model/steps.ts';
import { operation, span } from '../../steps.ts';
import { read } from '../read.ts';

const json = JSON.stringify;
const CHAT = json([
  { role: 'system', content: 'obey' },
  { role: 'user', content: 'hello' },
]);
const named = (name: string, attributes: JsonObject) => span({ name, attributes });

describe.each<[string, [string, Step, string[]][]]>([
  [
    'Sentry',
    [
      [
        'a chat',
        operation('chat', {
          'gen_ai.request.messages': CHAT,
          'gen_ai.request.available_tools': '[{"name":"x"}]',
          'gen_ai.response.text': '["hi"]',
          'gen_ai.response.tool_calls': json([
            { name: 'run', type: 'function_call', arguments: '{"a":"ls"}' },
          ]),
        }),
        [
          'step_input: hello',
          'agent_output: hi',
          'tool_name: run',
          'tool_args: {"a":"ls"}',
          'tool_args: ls',
        ],
      ],
      [
        'a tool of a server',
        named('tools/call run', {
          'mcp.method.name': 'tools/call',
          'mcp.tool.name': 'run',
          'mcp.request.argument.a': '"ls"',
          'mcp.tool.result.content': 'done',
          'mcp.tool.result.content_count': 1,
          'mcp.tool.result.content_type': 'text',
        }),
        ['tool_name: run', 'tool_args: "ls"', 'tool_args: ls', 'tool_result: done'],
      ],
      [
        'a prompt of several messages',
        named('prompts/get greet', {
          'mcp.prompt.name': 'greet',
          'mcp.prompt.result.0.role': 'user',
          'mcp.prompt.result.0.content': 'one',
          'mcp.prompt.result.1.content': 'two',
          'mcp.prompt.result.message_count': 2,
        }),
        ['tool_name: greet', 'tool_result: one', 'tool_result: two'],
      ],
    ],
  ],
  [
    'AgentScope',
    [
      [
        'a chat',
        operation('chat', {
          'agentscope.function.input': json({
            args: [],
            kwargs: { messages: JSON.parse(CHAT), tools: ['x'] },
          }),
          'agentscope.function.output': json({ content: [{ type: 'text', text: 'hi' }] }),
        }),
        ['step_input: hello', 'agent_output: hi'],
      ],
      [
        'an answer that is there twice',
        operation('chat', {
          'gen_ai.output.messages': json([{ role: 'assistant', content: 'hi' }]),
          'agentscope.function.output': json({ content: [{ type: 'text', text: 'hi' }] }),
        }),
        ['agent_output: hi'],
      ],
      [
        'a tool',
        operation('execute_tool', { 'agentscope.function.output': '"done"' }),
        ['tool_result: "done"', 'tool_result: done'],
      ],
    ],
  ],
  [
    'OpenClaw',
    [
      [
        'a tool of an older version',
        operation('execute_tool', {
          'openclaw.content.tool_input': '{"a":"ls"}',
          'openclaw.content.tool_output': 'done',
          'openclaw.content.tool_definitions': '[{"name":"x"}]',
        }),
        ['tool_args: {"a":"ls"}', 'tool_args: ls', 'tool_result: done'],
      ],
      [
        'a chat of an older version',
        operation('chat', {
          'openclaw.content.input_messages': CHAT,
          'openclaw.content.output_messages': json([{ role: 'assistant', content: 'hi' }]),
          'openclaw.content.system_prompt': 'obey',
        }),
        ['step_input: hello', 'agent_output: hi'],
      ],
    ],
  ],
  [
    'Semantic Kernel',
    [
      [
        'an agent',
        operation('invoke_agent', {
          'gen_ai.agent.invocation_input': CHAT,
          'gen_ai.agent.invocation_output': json([{ role: 'assistant', content: 'hi' }]),
        }),
        ['step_input: hello', 'agent_output: hi'],
      ],
    ],
  ],
  [
    'Haystack',
    [
      [
        'a generator',
        named('haystack.component.run', {
          'haystack.component.type': 'OpenAIChatGenerator',
          'haystack.component.input': json({ messages: JSON.parse(CHAT), generation_kwargs: {} }),
          'haystack.component.output': json({
            replies: [
              {
                role: 'assistant',
                content: [
                  { text: 'hi' },
                  { tool_call: { tool_name: 'run', arguments: { a: 'ls' }, id: '1' } },
                ],
              },
            ],
          }),
        }),
        [
          'step_input: hello',
          'agent_output: hi',
          'tool_name: run',
          'tool_args: {"a":"ls"}',
          'tool_args: ls',
        ],
      ],
      [
        'an agent',
        named('haystack.agent.run', {
          'haystack.agent.input': json({ messages: JSON.parse(CHAT) }),
          'haystack.agent.output': json({
            last_message: { role: 'assistant', content: [{ text: 'hi' }] },
          }),
        }),
        ['step_input: hello', 'agent_output: hi'],
      ],
      [
        'a pipeline: messages of its components by author',
        named('haystack.pipeline.run', {
          'haystack.pipeline.input_data': json({ llm: { messages: JSON.parse(CHAT) } }),
        }),
        ['step_input: hello'],
      ],
    ],
  ],
  [
    'Pipecat',
    [
      [
        'a model',
        operation('chat', {
          'metrics.ttfb': 0.1,
          input: CHAT,
          output: 'hi',
          tools: '[{"name":"x"}]',
        }),
        ['step_input: hello', 'agent_output: hi'],
      ],
      [
        'what was heard',
        operation('stt', { 'metrics.ttfb': 0.1, transcript: 'hello' }),
        ['step_input: hello'],
      ],
      [
        'what was said',
        operation('x', { 'metrics.ttfb': 0.1, transcript: 'hi', 'transcript.is_input': false }),
        ['agent_output: hi'],
      ],
      [
        'a tool',
        named('llm_tool_call', {
          'tool.function_name': 'run',
          'tool.arguments': '{"a":"ls"}',
          'tool.result': 'done',
        }),
        ['tool_name: run', 'tool_args: {"a":"ls"}', 'tool_args: ls', 'tool_result: done'],
      ],
    ],
  ],
  [
    'traceAI',
    [
      [
        'a model: its values are read where nothing better is',
        named('x', { 'fi.span.kind': 'LLM', 'raw.input': CHAT, 'raw.output': 'hi' }),
        ['step_input: hello', 'agent_output: hi'],
      ],
      [
        'a tool',
        named('x', { 'fi.span.kind': 'TOOL', 'input.value': 'ls', 'output.value': 'done' }),
        ['tool_args: ls', 'tool_result: done'],
      ],
    ],
  ],
  [
    'Goose',
    [
      [
        'an answer',
        span({
          name: 'reply',
          scopeName: 'goose',
          attributes: { trace_input: 'hello', trace_output: 'hi' },
        }),
        ['step_input: hello', 'agent_output: hi'],
      ],
      [
        'a tool',
        span({
          name: 'dispatch_tool_call',
          scopeName: 'goose',
          attributes: { input: 'ls', output: 'done' },
        }),
        ['tool_args: ls', 'tool_result: done'],
      ],
    ],
  ],
])('%s', (_product, steps) => {
  it.each(steps)('%s', (_what, step, expected) => {
    expect(read(step)).toEqual(expected);
  });
});
