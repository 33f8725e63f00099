/** A provider of the OpenAI HTTP API on loopback with canned answers. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Reply {
  readonly content: string;
  /** arguments of the one tool call in the answer, as JSON */
  readonly callArguments: string;
}

export interface ProviderStub {
  readonly baseUrl: string;
  /** what the next answers say */
  reply: Reply;
  readonly close: () => Promise<void>;
}

function completion({ content, callArguments }: Reply): object {
  const call = { name: 'run_shell', arguments: callArguments };
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'stub-1',
    choices: [
      {
        index: 0,
        finish_reason: 'tool_calls',
        message: {
          role: 'assistant',
          content,
          tool_calls: [{ id: 'call_2', type: 'function', function: call }],
        },
      },
    ],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  };
}

/** The same, in pieces as server-sent events. */
function pieces({ content, callArguments }: Reply): string {
  const middle = content.length >> 1;
  const deltas = [
    { role: 'assistant', content: content.slice(0, middle) },
    { content: content.slice(middle) },
    {
      tool_calls: [
        {
          index: 0,
          id: 'call_2',
          type: 'function',
          function: { name: 'run_shell', arguments: callArguments },
        },
      ],
    },
  ];
  const chunk = (delta: object, finish: string | null) =>
    `data: ${JSON.stringify({
      id: 'chatcmpl-1',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'stub-1',
      choices: [{ index: 0, delta, finish_reason: finish }],
    })}\n\n`;
  return [
    ...deltas.map((delta) => chunk(delta, null)),
    chunk({}, 'tool_calls'),
    'data: [DONE]\n\n',
  ].join('');
}

export async function startProvider(): Promise<ProviderStub> {
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text;
    });
    request.on('end', () => {
      const isStream = (JSON.parse(body) as { stream?: boolean }).stream === true;
      response.setHeader('content-type', isStream ? 'text/event-stream' : 'application/json');
      response.end(isStream ? pieces(stub.reply) : JSON.stringify(completion(stub.reply)));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const stub: ProviderStub = {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    reply: { content: '', callArguments: '{}' },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return stub;
}
