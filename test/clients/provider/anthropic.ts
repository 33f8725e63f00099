/** Anthropic's messages. */
import { eventStream, halvesOf, type Reply } from './reply.ts';

interface MessagesRequest {
  readonly model: string;
  readonly stream?: boolean;
  readonly tools?: readonly { readonly name: string }[];
}

export const toolsOfMessages = ({ tools = [] }: MessagesRequest): string[] =>
  tools.map(({ name }) => name);

const stopOf = (reply: Reply): string => ('call' in reply ? 'tool_use' : 'end_turn');

export function message({ model }: MessagesRequest, reply: Reply): object {
  const block =
    'call' in reply
      ? { type: 'tool_use', id: 'toolu_1', ...reply.call }
      : { type: 'text', text: reply.text };
  return {
    id: 'call' in reply ? 'msg_1' : 'msg_2',
    type: 'message',
    role: 'assistant',
    model,
    content: [block],
    stop_reason: stopOf(reply),
    stop_sequence: null,
    usage: { input_tokens: 10, output_tokens: 5 },
  };
}

export function messageStream(request: MessagesRequest, reply: Reply): string {
  const block =
    'call' in reply
      ? { type: 'tool_use', id: 'toolu_1', name: reply.call.name, input: {} }
      : { type: 'text', text: '' };
  const pieces = halvesOf('call' in reply ? JSON.stringify(reply.call.input) : reply.text);
  const deltas = pieces.map((piece) =>
    'call' in reply
      ? { type: 'input_json_delta', partial_json: piece }
      : { type: 'text_delta', text: piece },
  );
  const start = { ...message(request, reply), content: [], stop_reason: null };
  const events: [string, object][] = [
    ['message_start', { message: start }],
    ['content_block_start', { index: 0, content_block: block }],
    ...deltas.map((delta): [string, object] => ['content_block_delta', { index: 0, delta }]),
    ['content_block_stop', { index: 0 }],
    [
      'message_delta',
      { delta: { stop_reason: stopOf(reply), stop_sequence: null }, usage: { output_tokens: 5 } },
    ],
    ['message_stop', {}],
  ];
  return eventStream(events.map(([type, data]) => [type, { type, ...data }]));
}
