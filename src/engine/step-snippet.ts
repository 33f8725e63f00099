/**
 * Owns the snippet of a step: the one line that tells what it did. A tool's command, address or query; what a
 * model answered or called; what an agent was given. Bounded, and of texts only, so it is redacted with them.
 */
import type { JsonValue } from '../model/json.ts';
import { SNIPPET_UNITS } from '../model/run-page.ts';
import type { StepKind, Surface } from '../model/steps.ts';
import { isObject } from './surfaces/reader/value-text.ts';

interface Text {
  readonly surface: Surface;
  readonly text: string;
}

/** Longer arguments are not parsed; their beginning is searched. */
const PARSED_UNITS_MAX = 8 * 1024;
/** Read before white space is folded. */
const READ_UNITS = 4 * SNIPPET_UNITS;

/** Arguments that tell most of a call, the most telling ones first. */
const TELLING = [
  ...['command', 'cmd', 'script', 'code', 'url', 'uri', 'href', 'query', 'sql', 'q'],
  ...['file_path', 'filename', 'path', 'pattern', 'to', 'prompt', 'message', 'text', 'input'],
];
const TELLING_IN_PART = new RegExp(`"(?:${TELLING.join('|')})"\\s*:\\s*"((?:[^"\\\\]|\\\\.)*)`);

const OF_TOOL: readonly Surface[] = ['tool_args', 'query_text', 'step_input', 'tool_result'];
const OF_OTHERS: readonly Surface[] = ['step_input', 'query_text', 'tool_args', 'agent_output'];
const OF_MODEL: readonly Surface[] = ['agent_output', 'tool_args'];

/**
 * Returns the snippet of a step; null without a text.
 *
 * @param texts in reading order, without other forms of the same text
 */
export function snippetOf(kind: StepKind, texts: readonly Text[]): string | null {
  const own = tellingText(kind, texts);
  if (own === undefined) return null;
  const shown = own.surface === 'tool_args' ? argumentIn(own.text) : own.text;
  const line = shown.trimStart().slice(0, READ_UNITS).replaceAll(/\s+/g, ' ').trimEnd();
  if (line.length <= SNIPPET_UNITS) return line.toWellFormed();
  return `${line.slice(0, SNIPPET_UNITS - 1).replace(/[\ud800-\udbff]$/, '')}…`.toWellFormed();
}

function tellingText(kind: StepKind, texts: readonly Text[]): Text | undefined {
  if (kind === 'llm' || kind === 'embedding') {
    const said = texts.findLast(({ surface }) => OF_MODEL.includes(surface));
    return said ?? texts.findLast(({ surface }) => surface === 'step_input') ?? texts.at(-1);
  }
  const order = kind === 'tool' || kind === 'retriever' ? OF_TOOL : OF_OTHERS;
  for (const wanted of order) {
    const found = texts.find(({ surface }) => surface === wanted);
    if (found !== undefined) return found;
  }
  return texts.find(({ surface }) => surface !== 'tool_name') ?? texts[0];
}

/** The most telling argument of a call; its text as it is without one. */
function argumentIn(text: string): string {
  if (!/^\s*\{/.test(text)) return text;
  const value = text.length <= PARSED_UNITS_MAX ? parsed(text) : undefined;
  if (!isObject(value)) {
    const found = TELLING_IN_PART.exec(text.slice(0, PARSED_UNITS_MAX))?.[1];
    return found === undefined ? text : unescaped(found);
  }
  const named = TELLING.map((name) => (Object.hasOwn(value, name) ? value[name] : null));
  const shown = [...named, ...Object.values(value)].find(isFilled);
  return shown ?? text;
}

const isFilled = (value: JsonValue | undefined): value is string =>
  typeof value === 'string' && value.trim() !== '';

function parsed(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

function unescaped(inJson: string): string {
  const value = parsed(`"${inJson}"`);
  return typeof value === 'string' ? value : inJson;
}
