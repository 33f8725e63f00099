/** What every product's form of a run has: drafts of its spans, in the order of the run. */
import type { Conversation, ModelCall, ToolCall } from '../conversation.ts';
import type { Service } from '../services.ts';
import type { Draft } from '../spans.ts';

export interface Shape {
  readonly name: string;
  readonly scope: { readonly name: string; readonly version: string };
  readonly agent: (service: Service, conversation: Conversation) => Draft;
  /** @param place index of the model call; its input is the question and all calls before it */
  readonly model: (service: Service, conversation: Conversation, place: number) => Draft;
  readonly tool: (service: Service, call: ToolCall) => Draft;
}

export function callsTo(
  { calls }: Conversation,
  place: number,
): { readonly before: readonly ModelCall[]; readonly own: ModelCall } {
  const own = calls[place];
  if (own === undefined) throw new Error(`the conversation has ${calls.length} model calls`);
  return { before: calls.slice(0, place), own };
}

export const answerIn = ({ calls }: Conversation): string => calls.at(-1)?.said ?? '';

const CHARS_PER_TOKEN = 4;

/** About what a model counts. */
export const tokensOf = (...texts: readonly string[]): number =>
  Math.ceil(texts.reduce((sum, { length }) => sum + length, 0) / CHARS_PER_TOKEN);

/** A tool's result as text, for products that have no other. */
export const resultText = ({ result }: ToolCall): string =>
  typeof result === 'string' ? result : JSON.stringify(result);
