/** Google's generateContent. */
import { eventStream, halvesOf, type Reply } from './reply.ts';

interface ContentRequest {
  readonly tools?: readonly {
    readonly functionDeclarations?: readonly { readonly name: string }[];
  }[];
}

export const toolsOfContent = ({ tools = [] }: ContentRequest): string[] =>
  tools.flatMap(({ functionDeclarations = [] }) => functionDeclarations.map(({ name }) => name));

const USAGE = { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 };

function content(model: string, part: object, isLast: boolean): object {
  return {
    candidates: [
      {
        index: 0,
        content: { role: 'model', parts: [part] },
        ...(isLast ? { finishReason: 'STOP' } : {}),
      },
    ],
    usageMetadata: USAGE,
    modelVersion: model,
    responseId: 'response-1',
  };
}

function partOf(reply: Reply): object {
  if ('text' in reply) return { text: reply.text };
  const { name, input } = reply.call;
  return { functionCall: { id: 'call_1', name, args: input } };
}

export const generatedContent = (model: string, reply: Reply): object =>
  content(model, partOf(reply), true);

export function contentStream(model: string, reply: Reply): string {
  const parts = 'text' in reply ? halvesOf(reply.text).map((text) => ({ text })) : [partOf(reply)];
  return eventStream(
    parts.map((part, at) => [null, content(model, part, at === parts.length - 1)]),
  );
}
