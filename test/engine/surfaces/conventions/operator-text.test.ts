/**
 * System prompts are the operator's own text, and no field of rules is for tool definitions: under no convention are they
 * matched as a user's or a tool's. Every row of every convention that holds messages gets a
 * conversation with both planted; every attribute that is named for them gets them alone.
 */
import { expect, it } from 'vitest';
import { CONVENTIONS } from '../../../../src/engine/surfaces/conventions/conventions.ts';
import type {
  AttributeRow,
  Convention,
  MemberPath,
} from '../../../../src/engine/surfaces/reader/convention.ts';
import { mergeTables } from '../../../../src/engine/surfaces/reader/convention-tables.ts';
import { readStepInPieces } from '../../../../src/engine/surfaces/reader/read-rows.ts';
import type { JsonObject, JsonValue } from '../../../../src/model/json.ts';
import type { StepKind } from '../../../../src/model/steps.ts';
import { toEnd } from '../../../../src/otlp/pieces.ts';
import { log, span } from '../../steps.ts';
import { read } from '../read.ts';

const SYSTEM = 'planted in the system prompt';
const TOOL = 'planted in a tool definition';
const MESSAGES = [
  { role: 'system', content: SYSTEM },
  { role: 'user', content: 'from the user' },
  { role: 'assistant', content: 'from the model' },
];
const TOOLS = [
  { type: 'function', function: { name: 'run', description: TOOL, parameters: { title: TOOL } } },
];
const REQUEST = { messages: MESSAGES, tools: TOOLS };
const KINDS: readonly StepKind[] = ['llm', 'agent', 'chain', 'other'];

type ReadOf<Row> = Row extends { readonly read: infer Read } ? Read : never;
type Reading = ReadOf<AttributeRow>;

interface Case {
  readonly convention: Convention;
  readonly row: AttributeRow;
  readonly read: Extract<Reading, { as: 'messages' | 'exchange' | 'flattened' }>;
  readonly kind: StepKind;
}

function rowsOf({ attributes = [], events = [], namedAsScope = [] }: Convention): AttributeRow[] {
  const own = events.flatMap((event) => (event.carries === 'own' ? event.attributes : []));
  return [...attributes, ...own, ...namedAsScope];
}

const CASES: readonly Case[] = CONVENTIONS.flatMap((convention) =>
  rowsOf(convention).flatMap((row) => {
    const { read, onKinds, notOnKinds } = row;
    if (read.as !== 'messages' && read.as !== 'exchange' && read.as !== 'flattened') return [];
    const kinds = KINDS.filter(
      (kind) => onKinds?.includes(kind) !== false && notOnKinds?.includes(kind) !== true,
    );
    return kinds.map((kind) => ({ convention, row, read, kind }));
  }),
);

const named = (row: AttributeRow): string => {
  if ('key' in row) return row.key;
  return 'prefix' in row ? `${row.prefix}x${'suffix' in row ? (row.suffix ?? '') : ''}` : 'name';
};

/** The value inside the members that lead to it. */
const wrapped = (path: MemberPath | undefined, value: JsonValue): JsonValue =>
  (typeof path === 'string' ? [path] : (path ?? [])).reduceRight<JsonValue>(
    (inner, member) => ({ [member]: inner }),
    value,
  );

/** The texts of a step with only this row's attribute, by the rows of the row's convention only. */
function textsOf({ convention, row, read, kind }: Case, value: JsonValue): string[] {
  const leaves =
    read.as === 'flattened'
      ? MESSAGES.flatMap(({ role, content }, index) => [
          [`${named(row).slice(0, -1)}${index}.role`, role],
          [`${named(row).slice(0, -1)}${index}.content`, content],
        ])
      : [[named(row), JSON.stringify(value)]];
  const conditions = [row.where, row.jsonBy].flatMap((one) => (one ? [[one.key, one.value]] : []));
  const attributes: JsonObject = Object.fromEntries([...leaves, ...conditions]);
  const tables = mergeTables([{ ...convention, attributes: [row], events: [] }]);
  const conventions = { tables, rows: tables.rows.rowsFor(attributes) };
  const { pieces } = toEnd(readStepInPieces(span({ attributes }), kind, conventions));
  return pieces.map(({ surface, text }) => `${surface}: ${text}`);
}

/** The member of the envelope that may hold a list of messages. */
function envelopeOf({ read }: Case): MemberPath | undefined {
  const take = read.as === 'flattened' ? [] : (read.envelope?.take ?? []);
  return take.find((path) => path === 'messages' || path === 'outputs') ?? take[0];
}

const labelled = (cases: readonly Case[]) =>
  cases.map((one) => [one.convention.name, named(one.row), one.kind, one] as const);

it.each(labelled(CASES))(
  'a conversation: %s, %s on a step of kind %s',
  (_name, _key, _kind, one) => {
    const texts = textsOf(one, wrapped(envelopeOf(one), MESSAGES));
    const isInput = one.read.side === 'input';
    const given = texts.filter((text) => isInput || !text.startsWith('agent_output: '));
    expect(given.join('\n')).not.toContain(SYSTEM);
    expect(texts.join('\n')).toContain('from the user');
  },
);

const REQUESTS = CASES.filter(({ read }) => read.as !== 'flattened' && read.side === 'input');

it.each(labelled(REQUESTS))('a request: %s, %s on a step of kind %s', (_name, _key, _kind, one) => {
  const envelope = envelopeOf(one);
  const texts = textsOf(one, wrapped(envelope === 'messages' ? undefined : envelope, REQUEST));
  expect(texts.join('\n')).not.toContain(SYSTEM);
  expect(texts.join('\n')).not.toContain(TOOL);
  expect(texts).toContain('step_input: from the user');
});

/** Attributes that hold nothing but the operator's text. */
const OPERATORS: JsonObject = {
  'gen_ai.system_instructions': JSON.stringify([{ type: 'text', content: SYSTEM }]),
  'gen_ai.tool.definitions': JSON.stringify(TOOLS),
  'gen_ai.tool.description': TOOL,
  'gen_ai.agent.description': SYSTEM,
  'gen_ai.agent.system_prompt': SYSTEM,
  'gen_ai.agent.tools': JSON.stringify(TOOLS),
  'ai.prompt.tools': [JSON.stringify(TOOLS[0] ?? {})],
  'llm.tools.0.tool.json_schema': JSON.stringify(TOOLS[0] ?? {}),
  'llm.request.functions.0.description': TOOL,
  'llm.invocation_parameters': JSON.stringify({ tools: TOOLS }),
  'lk.instructions': SYSTEM,
  'lk.function_tools': JSON.stringify(TOOLS),
  'agent.instructions': SYSTEM,
  'tool.description': TOOL,
  'crewai.agent.backstory': SYSTEM,
  'spring.ai.chat.client.system.text': SYSTEM,
  model_request_parameters: JSON.stringify({ function_tools: TOOLS }),
  system_prompt_preview: SYSTEM,
};

it.each(CONVENTIONS.map((convention) => [convention.name, convention] as const))(
  '%s: attributes of the operator alone',
  (_name, { appliesTo }) => {
    const scopeName = appliesTo?.scopes?.[0] ?? '';
    const serviceName = appliesTo?.services?.[0] ?? null;
    for (const kind of ['chat', 'invoke_agent', 'execute_tool', 'chain']) {
      const attributes = { ...OPERATORS, 'gen_ai.operation.name': kind };
      expect(read(span({ name: '', scopeName, serviceName, attributes }))).toEqual([]);
    }
    const events = ['gen_ai.system.message', 'gen_ai.developer.message'];
    for (const name of events) {
      const event = { name, attributes: { content: SYSTEM } };
      expect(read(span({ name: '', scopeName, serviceName, events: [event] }))).toEqual([]);
      expect(read(log({ scopeName, serviceName, name, body: { content: SYSTEM } }))).toEqual([]);
    }
  },
);
