/** OpenAI's chat completions. */
import { eventStream, halvesOf, type Reply } from './reply.ts';

interface ChatRequest {
  readonly model: string;
  readonly stream?: boolean;
  readonly tools?: readonly { readonly function?: { readonly name: string } }[];
}

export const toolsOfChat = ({ tools = [] }: ChatRequest): string[] =>
  tools.flatMap((tool) => tool.function?.name ?? []);

const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

function toolCall(reply: Reply): object | undefined {
  if (!('call' in reply)) return undefined;
  const { name, input } = reply.call;
  return { id: 'call_1', type: 'function', function: { name, arguments: JSON.stringify(input) } };
}

/** Frameworks replace a message by another of the same id. */
const idOf = (reply: Reply): string => ('call' in reply ? 'chatcmpl-1' : 'chatcmpl-2');

const finishOf = (reply: Reply): string => ('call' in reply ? 'tool_calls' : 'stop');

export function chatCompletion({ model }: ChatRequest, reply: Reply): object {
  const call = toolCall(reply);
  const message = {
    role: 'assistant',
    content: 'text' in reply ? reply.text : null,
    refusal: null,
    ...(call === undefined ? {} : { tool_calls: [call] }),
  };
  return {
    id: idOf(reply),
    object: 'chat.completion',
    created: 1_763_640_000,
    model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishOf(reply) }],
    usage: USAGE,
  };
}

export function chatStream({ model }: ChatRequest, reply: Reply): string {
  const chunk = (choices: readonly object[], more: object = {}): [null, object] => [
    null,
    {
      id: idOf(reply),
      object: 'chat.completion.chunk',
      created: 1_763_640_000,
      model,
      choices,
      ...more,
    },
  ];
  const delta = (content: object) => chunk([{ index: 0, delta: content, finish_reason: null }]);
  const deltas =
    'text' in reply
      ? halvesOf(reply.text).map((content) => delta({ content }))
      : [delta({ tool_calls: [{ index: 0, ...toolCall(reply) }] })];
  return eventStream([
    delta({ role: 'assistant', content: '' }),
    ...deltas,
    chunk([{ index: 0, delta: {}, finish_reason: finishOf(reply) }]),
    chunk([], { usage: USAGE }),
    [null, '[DONE]'],
  ]);
}
