/** The search in a run's texts: which steps are searched, what is found, and where it ends. */
import { expect, test } from 'vitest';
import { searchInPieces } from '../../src/engine/run-search.ts';
import { operation } from './steps.ts';

function search(texts: readonly string[], phrase: string, hitsMax = 10) {
  const steps = texts.map((text, index) => ({
    step: operation('chat', { 'gen_ai.prompt': text }),
    number: 101 + index,
    twin: 0,
    depth: 0,
    isCut: index === 0,
  }));
  const pieces = searchInPieces({ steps, owners: [] }, phrase, hitsMax);
  for (let turns = 0; ; turns += 1) {
    const piece = pieces.next();
    if (piece.done === true) return { turns, ...piece.value };
  }
}

test('the first hit of each text, with some text on either side', () => {
  const before = 'x'.repeat(100);
  const { hits, ...rest } = search([`${before}The  Key, the key`, 'no', 'THE KEY'], 'the key');
  expect(rest).toEqual({ turns: 6, lastStep: 103, cut: 1 });
  expect(hits).toEqual([
    {
      step: 101,
      stepName: 'a span',
      surface: 'step_input',
      text: 0,
      at: 100,
      before: 'x'.repeat(80),
      match: 'The  Key',
      after: ', the key',
    },
    expect.objectContaining({ step: 103, match: 'THE KEY', before: '', after: '' }),
  ]);
});

test('ends with the step that has enough hits', () => {
  const { hits, lastStep } = search(['a', 'a', 'a', 'a'], 'a', 2);
  expect(hits.map(({ step }) => step)).toEqual([101, 102]);
  expect(lastStep).toBe(102);
});

test('a phrase is text, not a pattern', () => {
  expect(search(['a.b'], 'a.b').hits).toHaveLength(1);
  expect(search(['axb'], 'a.b').hits).toEqual([]);
  expect(search([String.raw`(^a|[b]\{1}$)?*+/`], String.raw`(^a|[b]\{1}$)?*+/`).hits).toHaveLength(
    1,
  );
});

test('a long text is searched in several turns, its edges in both', () => {
  const text = `${'word '.repeat(6551)}the long key`;
  const { turns, hits } = search([text], 'the  long key');
  expect([turns, hits[0]?.at]).toEqual([2, text.length - 12]);
  expect(search(['word '.repeat(20_000)], 'key').turns).toBe(5);
});

test('no steps, no hits', () => {
  expect(search([], 'a')).toEqual({ turns: 0, hits: [], lastStep: null, cut: 0 });
});
