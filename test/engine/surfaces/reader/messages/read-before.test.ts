/** Messages that were read before give the same texts, and cost their budget the same. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type Budget,
  CHARS_MAX,
  createBudget,
} from '../../../../../src/engine/surfaces/reader/budget.ts';
import type { Piece } from '../../../../../src/engine/surfaces/reader/messages/message-parts.ts';
import { readMessages } from '../../../../../src/engine/surfaces/reader/messages/messages.ts';
import { readOnce } from '../../../../../src/engine/surfaces/reader/messages/read-before.ts';
import type { JsonValue } from '../../../../../src/model/json.ts';

let fresh = 0;
/** A conversation that nobody has read before. */
const conversation = (...contents: JsonValue[]): JsonValue[] =>
  contents.map((content) => ({ role: 'user', content, id: `m${fresh++}` }));

function readAll(value: JsonValue, change: Partial<Budget> = {}) {
  const budget = { ...createBudget(value), ...change };
  const pieces = readMessages(value, 'input', 'step_input', budget);
  const { chars, nodes, exceeded, cut, unknownRoles } = budget;
  return { pieces, chars, nodes, exceeded, cut, unknownRoles: [...unknownRoles] };
}

const roles = fc.constantFrom('user', 'assistant', 'tool', 'system', 'Narrator', 'hum4n');
const content = fc.oneof(
  fc.string(),
  fc.json(),
  fc.record({ type: fc.constant('text'), text: fc.string() }).map((part) => [part]),
  fc
    .record({ type: fc.constant('tool_call'), name: fc.string(), arguments: fc.json() })
    .map((part) => [part]),
);
const messages = fc.array(fc.record({ role: roles, content }), { maxLength: 6 });

describe('a list of messages', () => {
  test('is read again as it was read first', () => {
    fc.assert(
      fc.property(messages, fc.boolean(), (list, isJson) => {
        const own: JsonValue = list.map((one) => ({ ...one, id: `m${fresh++}` }));
        const value = isJson ? JSON.stringify(own) : own;
        const first = readAll(value);
        expect(readAll(value)).toEqual(first);
        // In a longer conversation, too.
        const longer = readAll([...own, ...conversation('more')]);
        const alone = readAll(own);
        expect(longer.pieces.slice(0, alone.pieces.length)).toEqual(alone.pieces);
      }),
    );
  });

  test('in JSON is read as the same list that was parsed, from any budget', () => {
    const budgets = fc.record({ chars: fc.nat(900), nodes: fc.nat(60) });
    const definition = fc.constant({ name: 'lookup', parameters: {} });
    const lists = fc.array(fc.oneof(fc.record({ role: roles, content }), definition), {
      minLength: 1,
      maxLength: 4,
    });
    fc.assert(
      fc.property(lists, budgets, fc.boolean(), (list, small, isSmall) => {
        const json = JSON.stringify(list);
        const change = isSmall ? small : {};
        const first = readAll(json, change);
        expect(readAll(json, change)).toEqual(first);
        // White space before a list: it is parsed whole. The texts of a list that is not parsed have it, too.
        const { pieces, ...rest } = readAll(
          ` ${json}`,
          isSmall ? { ...small, chars: small.chars + 1 } : {},
        );
        if (!first.exceeded) expect(pieces).toEqual(first.pieces);
        expect({ ...rest, chars: rest.exceeded ? 0 : rest.chars - (isSmall ? 0 : -1) }).toEqual({
          nodes: first.nodes,
          exceeded: first.exceeded,
          cut: first.cut,
          unknownRoles: first.unknownRoles,
          chars: first.exceeded ? 0 : first.chars,
        });
      }),
    );
  });

  test('is read on the surfaces of its side', () => {
    const list = [{ role: 'system', content: `policy ${fresh++}` }];
    expect(readAll(list).pieces).toEqual([]);
    const budget = createBudget(list);
    const output = readMessages(list, 'output', 'agent_output', budget);
    expect(output.map(({ surface }) => surface)).toEqual(['agent_output']);
  });

  test('is not read from a budget that does not last: one character too few', () => {
    const list = conversation(JSON.stringify({ command: 'ls' }));
    const { chars, pieces } = readAll(list);
    const used = CHARS_MAX - chars;
    expect(readAll(list, { chars: used })).toMatchObject({ pieces, exceeded: false, chars: 0 });
    expect(readAll(list, { chars: used - 1 }).exceeded).toBe(true);
    expect(readAll(list)).toMatchObject({ pieces, exceeded: false });
  });

  test('that was cut is read again, because more may follow', () => {
    const whole = JSON.stringify(conversation('first', 'second message'));
    const cut = whole.slice(0, -20);
    expect(readAll(cut)).toEqual(readAll(cut));
    expect(readAll(cut).cut).toBe(true);
    expect(readAll(whole).pieces.map(({ text }) => text)).toContain('second message');
  });
});

test('JSON that a sender cut is noted, also after the message was read inside a larger value', () => {
  const cut = `{"command": "first line ${fresh++}`;
  const list = [{ role: 'user', content: cut }];
  expect(readAll(JSON.stringify(list)).cut).toBe(false);
  // Flattened attributes: each string is a value that was sent.
  expect(readAll(list, { sent: [cut] }).cut).toBe(true);
});

test('a message is read once; a long one each time', () => {
  const counted = (message: JsonValue): number => {
    let count = 0;
    const read = (): Piece[] => {
      count += 1;
      return [];
    };
    for (let time = 0; time < 3; time += 1) readOnce(message, 'test ', createBudget(), read);
    return count;
  };
  // Of each: the name of the reading, two quotes, and the text.
  const longest = (256 << 10) - 'test ""'.length;
  expect(counted('x'.repeat(longest))).toBe(1);
  expect(counted('x'.repeat(longest + 1))).toBe(3);
});
