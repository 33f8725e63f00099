/**
 * The APIs of the model providers on loopback, each under its own paths: OpenAI's chat completions and
 * responses, Anthropic's messages, Google's generateContent; whole and streamed.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { message, messageStream, toolsOfMessages } from './anthropic.ts';
import { contentStream, generatedContent, toolsOfContent } from './gemini.ts';
import { chatCompletion, chatStream, toolsOfChat } from './openai-chat.ts';
import { response, responseStream, toolsOfResponses } from './openai-responses.ts';
import { replyTo } from './reply.ts';

/** A JSON body, or the text of server-sent events. */
type Answered = object | string;

interface ProviderRequest {
  readonly path: string;
  readonly body: string;
}

/** By the end of the path. */
const APIS: readonly (readonly [RegExp, (request: ProviderRequest) => Answered])[] = [
  [
    /\/chat\/completions$/,
    ({ body }) => {
      const request = JSON.parse(body) as Parameters<typeof chatCompletion>[0];
      const reply = replyTo(body, toolsOfChat(request));
      return request.stream === true ? chatStream(request, reply) : chatCompletion(request, reply);
    },
  ],
  [
    /\/responses$/,
    ({ body }) => {
      const request = JSON.parse(body) as Parameters<typeof response>[0];
      const reply = replyTo(body, toolsOfResponses(request));
      return request.stream === true ? responseStream(request, reply) : response(request, reply);
    },
  ],
  [/\/messages\/count_tokens$/, () => ({ input_tokens: 10 })],
  [
    /\/messages$/,
    ({ body }) => {
      const request = JSON.parse(body) as Parameters<typeof message>[0];
      const reply = replyTo(body, toolsOfMessages(request));
      return request.stream === true ? messageStream(request, reply) : message(request, reply);
    },
  ],
  [
    /:(?:streamG|g)enerateContent$/,
    ({ path, body }) => {
      const model = /models\/([^:]+):/.exec(path)?.[1] ?? 'gemini';
      const reply = replyTo(body, toolsOfContent(JSON.parse(body) as object));
      const isStream = path.endsWith(':streamGenerateContent');
      return isStream ? contentStream(model, reply) : generatedContent(model, reply);
    },
  ],
  [/:countTokens$/, () => ({ totalTokens: 10 })],
  [/\/models$/, () => ({ object: 'list', data: [], models: [] })],
];

export interface Provider {
  /** without a slash at its end */
  readonly url: string;
  /** method and path of every request, in order, for a client's failure */
  readonly requests: string[];
  readonly close: () => Promise<void>;
}

export async function startProvider(): Promise<Provider> {
  const requests: string[] = [];
  const server = createServer((request, answer) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text;
    });
    request.on('end', () => {
      const { pathname: path } = new URL(request.url ?? '/', 'http://localhost');
      requests.push(`${request.method} ${path}`);
      const api = APIS.find(([pattern]) => pattern.test(path))?.[1];
      if (api === undefined) return void answer.writeHead(404).end('{}');
      const answered = api({ path, body });
      const isStream = typeof answered === 'string';
      answer.setHeader('content-type', isStream ? 'text/event-stream' : 'application/json');
      answer.end(isStream ? answered : JSON.stringify(answered));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
