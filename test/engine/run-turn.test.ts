/** A run as a turn of a conversation: the new message of the user, the tools, the last answer. */
import { expect, test } from 'vitest';
import { turnInPieces } from '../../src/engine/run-turn.ts';
import { nameDigest } from '../../src/engine/step-name.ts';
import { TURN_UNITS } from '../../src/model/run-page.ts';
import type { Step } from '../../src/model/steps.ts';
import { operation, span } from './steps.ts';

function turnOf(steps: readonly Step[], hidden: readonly string[] = []) {
  const numbered = steps.map((step, at) => ({
    step,
    number: at + 1,
    twin: 0,
    depth: 0,
    isCut: false,
  }));
  const pieces = turnInPieces({ steps: numbered, owners: [] }, new Set(hidden.map(nameDigest)));
  for (;;) {
    const piece = pieces.next();
    if (piece.done === true) return piece.value;
  }
}

const message = (role: string, content: string) => ({
  role,
  parts: [{ type: 'text', content }],
});
const chat = (input: readonly object[], output: string) =>
  operation('chat', {
    'gen_ai.input.messages': JSON.stringify(input),
    'gen_ai.output.messages': JSON.stringify([message('assistant', output)]),
  });
const tool = (name: string) => ({
  ...operation('execute_tool', { 'gen_ai.tool.name': name }),
  name: `execute_tool ${name}`,
});
const whole = (text: string) => ({ text, isCut: false });

test('history that is sent again is not the new message', () => {
  const history = [
    message('user', 'first question'),
    message('assistant', 'first answer'),
    message('user', 'second question'),
  ];
  const steps = [
    chat(history, 'I look it up.'),
    tool('search'),
    tool('search'),
    chat([...history, message('assistant', 'I look it up.')], 'the answer'),
  ];
  const { said, answered, tools } = turnOf(steps);
  expect(said).toEqual(whole('second question'));
  expect(answered).toEqual(whole('the answer'));
  expect(tools.map(({ calls }) => calls)).toEqual([2]);
  expect(tools[0]?.name).toContain('search');
});

test('a run without texts says nothing; a hidden name is no tool', () => {
  expect(turnOf([span()])).toEqual({ said: null, answered: null, tools: [] });
  const [shown] = turnOf([tool('search')]).tools;
  expect(turnOf([tool('search')], [shown?.name ?? '']).tools).toEqual([]);
});

test('a long text is cut to whole characters', () => {
  const longest = 'word '.repeat(TURN_UNITS / 5);
  const said = (text: string) => turnOf([chat([message('user', text)], '')]).said;
  expect(said(longest)).toEqual(whole(longest));
  expect(said(`${longest}y`)).toEqual({ text: longest, isCut: true });
  expect(said(`${longest.slice(1)}😀`)).toEqual({ text: longest.slice(1), isCut: true });
});
