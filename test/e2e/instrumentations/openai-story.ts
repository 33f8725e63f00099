/** A conversation through the OpenAI client: history with a tool's call and result, then an answer. */
import type OpenAI from 'openai';

import type { Story } from './instrumented.ts';
import type { ProviderStub } from './openai-stub.ts';

/** Never matched: the operator's own words, which no surface holds. */
const SYSTEM = 'You are the assistant of a parcel service.';

/** @param stream whether the answer is streamed */
export async function tellStory(
  client: OpenAI,
  provider: ProviderStub,
  { user, toolArgs, toolResult, answer }: Story,
  stream: boolean,
): Promise<void> {
  provider.reply = { content: answer, callArguments: JSON.stringify({ command: toolArgs }) };
  const request = {
    model: 'stub-1',
    messages: [
      { role: 'system', content: SYSTEM },
      { role: 'user', content: user },
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'call_1', type: 'function', function: { name: 'look_up', arguments: '{}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'call_1', content: toolResult },
    ],
    tools: [
      {
        type: 'function',
        function: {
          name: 'run_shell',
          description: 'Runs a command.',
          parameters: { type: 'object', properties: { command: { type: 'string' } } },
        },
      },
    ],
  } satisfies OpenAI.ChatCompletionCreateParams;
  if (!stream) {
    await client.chat.completions.create(request);
    return;
  }
  const answered = await client.chat.completions.create({ ...request, stream: true });
  let chunks = 0;
  for await (const _chunk of answered) chunks += 1;
  if (chunks === 0) throw new Error('the provider streamed nothing');
}

/** What is read of the quiet story, whatever the instrumentation. */
export const SURFACES = [
  'agent_output: It is on its way to you.',
  'step_input: Where is parcel 4471?',
  'tool_args: parcel 4471',
  'tool_args: {"command":"parcel 4471"}',
  'tool_name: look_up',
  'tool_name: run_shell',
  'tool_result: It left the depot at noon.',
];

/**
 * Takes off what an instrumentation wrapped around the client's methods: a worker keeps its modules, and the
 * next file instruments the same ones. `disable()` of an instrumentation does so only for modules that it
 * found itself.
 */
export function unwrap({ Chat, Completions, Embeddings, Images, Responses }: typeof OpenAI): void {
  for (const { prototype } of [Chat.Completions, Completions, Embeddings, Images, Responses]) {
    for (const name of Object.getOwnPropertyNames(prototype)) {
      const method = Reflect.get(prototype, name) as { __unwrap?: () => void };
      method.__unwrap?.();
    }
  }
}
