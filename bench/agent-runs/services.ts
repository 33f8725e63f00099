/**
 * The services whose agents run: each has one system prompt and one list of tools, which every model call
 * of each of its runs repeats.
 */
import type { JsonObject } from '../../src/model/json.ts';
import { seeded } from '../bodies.ts';
import { prose } from './conversation.ts';

export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  /** a JSON schema */
  readonly parameters: JsonObject;
}

export interface Service {
  readonly name: string;
  readonly agent: string;
  readonly model: string;
  readonly system: string;
  readonly tools: readonly ToolDefinition[];
}

const NAMES = ['code-helper', 'docs-writer', 'release-desk', 'support-triage'];
export const SERVICES = NAMES.length;
const MODEL = 'gpt-4.1-mini';
const SYSTEM_CHARS = 1200;

const schema = (properties: JsonObject, required: readonly string[]): JsonObject => ({
  type: 'object',
  properties,
  required: [...required],
  additionalProperties: false,
});

const TOOLS: readonly ToolDefinition[] = [
  {
    name: 'read_file',
    description: 'Reads lines of a source file. Lines are counted from 1.',
    parameters: schema(
      {
        path: { type: 'string', description: "The file, from the repository's root." },
        offset: { type: 'integer', minimum: 1, description: 'The first line.' },
        limit: { type: 'integer', minimum: 1, maximum: 400, description: 'How many lines.' },
      },
      ['path'],
    ),
  },
  {
    name: 'search_code',
    description: 'Lists the lines of source code that hold a text, with file and line.',
    parameters: schema(
      {
        query: { type: 'string', description: 'The text, with upper and lower case as it is.' },
        folder: { type: 'string', description: 'Search in this folder only.' },
        maxResults: { type: 'integer', minimum: 1, maximum: 100, description: 'Most lines.' },
      },
      ['query'],
    ),
  },
  {
    name: 'read_document',
    description: 'Reads a page of the documentation, as Markdown.',
    parameters: schema(
      {
        path: { type: 'string', description: "The page, from the repository's root." },
        from_line: { type: 'integer', minimum: 1, description: 'Where to begin.' },
      },
      ['path'],
    ),
  },
  {
    name: 'package_facts',
    description: 'Looks up version, licence, checksum and dependencies of installed packages.',
    parameters: schema(
      {
        names: { type: 'array', items: { type: 'string' }, description: 'Names of the packages.' },
      },
      ['names'],
    ),
  },
];

/** The service of a number; each has a system prompt of its own. */
export function serviceOf(number: number): Service {
  const which = number % SERVICES;
  const name = NAMES[which] ?? '';
  const rules = prose(seeded(which + 1), SYSTEM_CHARS);
  return {
    name,
    agent: name.replace('-', '_'),
    model: MODEL,
    system:
      `You are the assistant of the team "${name}". Answer from the code and the documentation only; use the ` +
      `tools to read both, and name the file and line of everything that you state.\n\n${rules}`,
    tools: TOOLS,
  };
}
