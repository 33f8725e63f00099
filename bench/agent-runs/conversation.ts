/**
 * One conversation of an agent with a model, in no product's form: a person's question, then in turn
 * what the model says, the tool that it calls, and what the tool returns, until it answers.
 */
import type { JsonObject, JsonValue } from '../../src/model/json.ts';
import { hex } from '../bodies.ts';
import { FOUND_LINES, material, type TextFile } from './material.ts';

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: JsonObject;
  readonly result: JsonValue;
}

/** One call of the model, and the tool call that it answers with; null when it answers the person. */
export interface ModelCall {
  readonly said: string;
  readonly tool: ToolCall | null;
}

export interface Conversation {
  readonly question: string;
  readonly calls: readonly ModelCall[];
}

/** Numbers from 0 up to 1. */
export type Random = () => number;

export function pick<T>(random: Random, values: readonly T[]): T {
  const value = values[Math.floor(random() * values.length)];
  if (value === undefined) throw new Error('nothing to choose from');
  return value;
}

export const between = (random: Random, from: number, to: number): number =>
  from + Math.floor(random() * (to - from + 1));

/** Paragraphs of documentation, at least this many characters together. */
export function prose(random: Random, chars: number): string {
  const chosen: string[] = [];
  for (let length = 0; length < chars; length += chosen.at(-1)?.length ?? 0) {
    chosen.push(pick(random, material().paragraphs));
  }
  return chosen.join('\n\n');
}

interface Lines {
  readonly path: string;
  readonly firstLine: number;
  readonly text: string;
}

/** Consecutive lines of a file; fewer at its end. */
function linesOf(random: Random, { path, text }: TextFile, count: number): Lines {
  const lines = text.split('\n');
  const from = between(random, 0, Math.max(0, lines.length - count));
  return { path, firstLine: from + 1, text: lines.slice(from, from + count).join('\n') };
}

type Called = Omit<ToolCall, 'id'>;

const TOOLS: readonly ((random: Random) => Called)[] = [
  function readFile(random) {
    const { path, firstLine, text } = linesOf(
      random,
      pick(random, material().sources),
      between(random, 15, 85),
    );
    return {
      name: 'read_file',
      arguments: { path, offset: firstLine, limit: text.split('\n').length },
      result: { path, firstLine, content: text },
    };
  },
  function searchCode(random) {
    const { query, lines } = pick(random, material().searches);
    return {
      name: 'search_code',
      arguments: { query, folder: 'src', maxResults: FOUND_LINES.max },
      result: { query, count: lines.length, matches: [...lines] },
    };
  },
  function readDocument(random) {
    const { path, firstLine, text } = linesOf(
      random,
      pick(random, material().documents),
      between(random, 8, 36),
    );
    return {
      name: 'read_document',
      arguments: { path, from_line: firstLine },
      // A text as it is, without JSON around it.
      result: `${path}, from line ${firstLine}:\n\n${text}`,
    };
  },
  function packageFacts(random) {
    const { packages, scripts } = material();
    const chosen = Array.from({ length: between(random, 1, 5) }, () => pick(random, packages));
    return {
      name: 'package_facts',
      arguments: { names: chosen.map(({ name }) => name) },
      result: { packages: chosen.map(({ name, facts }) => ({ name, ...facts })), scripts },
    };
  },
];
/** How often each tool is called: agents that write code read more than anything else. */
const CALLED = [0, 0, 0, 1, 1, 2, 2, 3];

function toolCall(random: Random): ToolCall {
  const call = TOOLS[pick(random, CALLED)];
  if (call === undefined) throw new Error('no such tool');
  return { id: `call_${hex(random, 24)}`, ...call(random) };
}

function questionOf(random: Random): string {
  const { path } = pick(random, material().documents);
  const quoted = pick(random, material().paragraphs);
  return pick(random, [
    `In ${path} I read:\n\n> ${quoted}\n\nWhere in the code is that done, and which tests show it?`,
    `${quoted}\n\nIs that still so? Check the code, please, and correct ${path} if it is not.`,
    `Write a short note for ${path} that explains this to new colleagues:\n\n"${quoted}"`,
  ]);
}

function answerOf(random: Random): string {
  const { path, firstLine, text } = linesOf(random, pick(random, material().sources), 15);
  const code = `\`${path}\`, line ${firstLine}:\n\n\`\`\`ts\n${text}\n\`\`\``;
  return `${prose(random, 500)}\n\n${code}\n\n${prose(random, 200)}`;
}

/** Makes a conversation of so many model calls; all but the last call a tool. */
export function makeConversation(random: Random, modelCalls: number): Conversation {
  const question = questionOf(random);
  const calls = Array.from({ length: modelCalls }, (_, index): ModelCall => {
    const isLast = index === modelCalls - 1;
    return isLast
      ? { said: answerOf(random), tool: null }
      : { said: prose(random, 80), tool: toolCall(random) };
  });
  return { question, calls };
}
