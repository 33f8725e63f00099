/** OpenAI's responses. */
import { eventStream, halvesOf, type Reply } from './reply.ts';

interface ResponsesRequest {
  readonly model: string;
  readonly stream?: boolean;
  readonly tools?: readonly { readonly name?: string; readonly type: string }[];
}

export const toolsOfResponses = ({ tools = [] }: ResponsesRequest): string[] =>
  tools.map(({ name, type }) => name ?? type);

function itemOf(reply: Reply): Record<string, unknown> {
  if ('call' in reply) {
    const { name, input } = reply.call;
    const call = { call_id: 'call_1', name, arguments: JSON.stringify(input) };
    return { id: 'fc_1', type: 'function_call', status: 'completed', ...call };
  }
  const content = [{ type: 'output_text', text: reply.text, annotations: [], logprobs: [] }];
  const message = { type: 'message', role: 'assistant', phase: 'final_answer', content };
  return { id: 'msg_1', status: 'completed', ...message };
}

export function response({ model }: ResponsesRequest, reply: Reply, status = 'completed'): object {
  return {
    id: 'call' in reply ? 'resp_1' : 'resp_2',
    object: 'response',
    created_at: 1_763_640_000,
    status,
    model,
    error: null,
    incomplete_details: null,
    instructions: null,
    metadata: {},
    output: status === 'completed' ? [itemOf(reply)] : [],
    parallel_tool_calls: false,
    temperature: 1,
    tool_choice: 'auto',
    tools: [],
    top_p: 1,
    usage: {
      input_tokens: 10,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 5,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 15,
    },
  };
}

export function responseStream(request: ResponsesRequest, reply: Reply): string {
  const item = itemOf(reply);
  const place = { item_id: item.id, output_index: 0 };
  const part = { ...place, content_index: 0 };
  const empty =
    'text' in reply
      ? { ...item, status: 'in_progress', content: [] }
      : { ...item, status: 'in_progress', arguments: '' };
  const inner: [string, object][] =
    'text' in reply
      ? [
          [
            'response.content_part.added',
            { ...part, part: { type: 'output_text', text: '', annotations: [] } },
          ],
          ...halvesOf(reply.text).map((delta): [string, object] => [
            'response.output_text.delta',
            { ...part, delta, logprobs: [] },
          ]),
          ['response.output_text.done', { ...part, text: reply.text, logprobs: [] }],
          [
            'response.content_part.done',
            { ...part, part: { type: 'output_text', text: reply.text, annotations: [] } },
          ],
        ]
      : [
          ['response.function_call_arguments.delta', { ...place, delta: item.arguments }],
          [
            'response.function_call_arguments.done',
            { ...place, name: item.name, arguments: item.arguments },
          ],
        ];
  const events: [string, object][] = [
    ['response.created', { response: response(request, reply, 'in_progress') }],
    ['response.output_item.added', { output_index: 0, item: empty }],
    ...inner,
    ['response.output_item.done', { output_index: 0, item }],
    ['response.completed', { response: response(request, reply) }],
  ];
  return eventStream(
    events.map(([type, data], at) => [type, { type, sequence_number: at, ...data }]),
  );
}
