/** Rows found by the attributes that are there: the same as asking every row, in the same order. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type {
  AttributeRow,
  Convention,
} from '../../../../src/engine/surfaces/reader/convention.ts';
import { ConventionIndex } from '../../../../src/engine/surfaces/reader/convention-index.ts';
import { RowTable } from '../../../../src/engine/surfaces/reader/row-table.ts';
import type { JsonObject } from '../../../../src/model/json.ts';
import type { Step } from '../../../../src/model/steps.ts';

const read = { as: 'text', surface: 'step_output' } as const;
const part = fc.constantFrom('a', 'b', 'a.b', 'a.b.c', 'b.', '', 'toString');
const row: fc.Arbitrary<AttributeRow> = fc.oneof(
  part.map((key) => ({ key, read })),
  part.map((prefix) => ({ prefix, read })),
  fc.constant({ of: 'name' as const, read }),
);
const attributes: fc.Arbitrary<JsonObject> = fc.dictionary(
  fc.oneof(part, fc.constant('a.b.c.d')),
  fc.constant('x'),
);

function canRead(one: AttributeRow, present: JsonObject): boolean {
  if ('key' in one) return Object.hasOwn(present, one.key);
  if ('prefix' in one) return Object.keys(present).some((key) => key.startsWith(one.prefix));
  return true;
}

test('a table finds the rows that can read anything, in their order', () => {
  fc.assert(
    fc.property(fc.array(row, { maxLength: 12 }), attributes, (rows, present) => {
      const expected = rows.filter((one) => canRead(one, present));
      const found = new RowTable(rows).rowsFor(present);
      expect(found.filter((one) => canRead(one, present))).toEqual(expected);
      expect(found).toEqual(rows.filter((one) => found.includes(one)));
    }),
  );
});

const convention = (name: string, appliesTo: Convention['appliesTo']): Convention => ({
  name,
  ...(appliesTo === undefined ? {} : { appliesTo }),
  kinds: [{ names: { [name]: 'llm' } }, { has: 'a', kind: 'llm' }, { key: 'b', kinds: {} }],
  attributes: [{ key: name, read }],
  events: [],
});
const CONVENTIONS = [
  convention('by scope', { scopes: ['acme.', 'other'] }),
  convention('always', undefined),
  convention('by service', { services: ['claude-code'] }),
  convention('by attribute', { attributes: ['a', 'b'] }),
  convention('by any', { scopes: ['acme.agents'], attributes: ['b'] }),
];

/** The names of the conventions that apply to a step, by their kinds. */
function namesOf(index: ConventionIndex, facts: Partial<Step>): string[] {
  const step = { scopeName: null, serviceName: null, attributes: {}, ...facts } as Step;
  return index
    .conventionsOf(step)
    .kinds.flatMap((kind) => ('names' in kind ? Object.keys(kind.names) : []));
}

test.each<[string, Partial<Step>, string[]]>([
  ['nothing', {}, ['always']],
  ['a scope', { scopeName: 'acme.agents.v2' }, ['by scope', 'always', 'by any']],
  ['another scope', { scopeName: 'acm' }, ['always']],
  ['a service', { serviceName: 'claude-code-2' }, ['always', 'by service']],
  ['attributes', { attributes: { z: 1, b: null } }, ['always', 'by attribute', 'by any']],
  [
    'everything',
    { scopeName: 'other', serviceName: 'claude-code', attributes: { a: 1 } },
    ['by scope', 'always', 'by service', 'by attribute'],
  ],
])('a step with %s has the conventions that apply, in their order', (_what, facts, names) => {
  const index = new ConventionIndex(CONVENTIONS);
  expect(namesOf(index, facts)).toEqual(names);
  expect(namesOf(index, facts)).toEqual(names);
});

test('more combinations and scopes than are cached', () => {
  const marks = Array.from({ length: 12 }, (_, number) =>
    convention(`c${number}`, { attributes: [`m${number}`], scopes: [`s${number}.`] }),
  );
  const index = new ConventionIndex(marks);
  for (let bits = 0; bits < 2500; bits += 1) {
    const expected = marks.flatMap(({ name }, number) => ((bits >> number) & 1 ? [name] : []));
    const present = expected.map((name) => [name.replace('c', 'm'), true] as const);
    const facts = { scopeName: `x${bits}`, attributes: Object.fromEntries(present) };
    expect(namesOf(index, facts)).toEqual(expected);
  }
});

test('steps with the same keys have the conventions and rows of each', () => {
  const shared = new ConventionIndex(CONVENTIONS);
  const keys = ['a', 'b', 'by scope', 'always', 'note', 'http.url', 'x'.repeat(200)];
  const steps = fc.record({
    scopeName: fc.constantFrom('', 'acme.agents', 'other'),
    serviceName: fc.constantFrom(null, '', 'claude-code'),
    attributes: fc.dictionary(fc.constantFrom(...keys), fc.constant('text')),
  });
  fc.assert(
    fc.property(fc.array(steps), (some) => {
      for (const step of some as Step[]) {
        const own = shared.conventionsOf(step);
        expect(own).toEqual(new ConventionIndex(CONVENTIONS).conventionsOf(step));
        const rows = own.tables.rows.rowsFor(step.attributes);
        expect(own.rows).toEqual(rows);
        expect(own.unread).toEqual(
          Object.keys(step.attributes).filter(
            (key) => key !== 'http.url' && !own.tables.rows.reads(key),
          ),
        );
        expect(own.kinds.some((kind) => 'has' in kind)).toBe('a' in step.attributes);
        expect(own.kinds.some((kind) => 'key' in kind)).toBe('b' in step.attributes);
      }
    }),
  );
});
