/** The outline of a run: one step per turn, and no more texts than a page shows. */
import { expect, test } from 'vitest';
import { outlineInPieces } from '../../src/engine/run-outline.ts';
import { log, operation, span } from './steps.ts';

function outlineOf(...steps: Parameters<typeof outlineInPieces>) {
  const pieces = outlineInPieces(...steps);
  for (let turns = 0; ; turns += 1) {
    const piece = pieces.next();
    if (piece.done === true) return { turns, steps: piece.value };
  }
}

test('one step a turn', () => {
  expect(outlineOf([span(), span(), span()]).turns).toBe(3);
  expect(outlineOf([])).toEqual({ turns: 0, steps: [] });
});

test('a log record is of the kind of its span, which may come later', () => {
  const { steps } = outlineOf([log(), operation('chat')]);
  expect(steps.map(({ outline }) => outline.kind)).toEqual(['llm', 'llm']);
});

test('sizes count every text, pages get the first ones, and cut steps say so', () => {
  const events = Array.from({ length: 200 }, (_, at) => ({
    name: 'gen_ai.user.message',
    attributes: { content: `text ${at}` },
  }));
  const step = { ...operation('chat'), events };
  const { steps } = outlineOf([step, ...Array<typeof step>(20).fill(step)], new Set([1]));
  expect(steps[0]?.outline.surfaces).toMatchObject([{ surface: 'step_input', texts: 200 }]);
  expect(steps[0]?.texts).toHaveLength(50);
  expect(steps.reduce((sum, { texts }) => sum + texts.length, 0)).toBe(500);
  expect(steps.filter(({ outline }) => outline.isCut)).toEqual([steps[1]]);
});

test('a long text is shown by its beginning, never with half a character', () => {
  const shown = `${'word '.repeat(799)}word`;
  const text = `${shown}😀 and more`;
  const { steps } = outlineOf([operation('chat', { 'gen_ai.prompt': text })]);
  expect(shown).toHaveLength(3999);
  expect(steps[0]?.texts).toEqual([
    { surface: 'step_input', text: shown, more: text.length - shown.length },
  ]);
});
