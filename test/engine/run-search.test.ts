/** The search in a run's texts: which steps are searched, what is found, and where it ends. */
import { expect, test } from 'vitest';
import type { OutlinedSteps } from '../../src/engine/run-outline.ts';
import { FoundTexts, searchInPieces } from '../../src/engine/run-search.ts';
import { operation } from './steps.ts';

function search(texts: readonly string[], phrase: string, hitsMax = 10) {
  const steps = texts.map((text, index) => ({
    step: operation('chat', { 'gen_ai.prompt': text }),
    number: 101 + index,
    twin: 0,
    depth: 0,
    isCut: index === 0,
  }));
  return searchSteps(steps, phrase, hitsMax);
}

function searchSteps(steps: OutlinedSteps['steps'], phrase: string, hitsMax = 10) {
  const found = new FoundTexts();
  const pieces = searchInPieces({ steps, owners: [] }, phrase, found, hitsMax);
  for (let turns = 0; ; turns += 1) {
    const piece = pieces.next();
    if (piece.done === true) return { turns, hits: found.hits, ...piece.value };
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
      repeatedIn: 0,
    },
    expect.objectContaining({ step: 103, match: 'THE KEY', before: '', after: '' }),
  ]);
});

test('ends with the step that has enough hits', () => {
  const { hits, lastStep } = search(['a', 'ab', 'ac', 'ad'], 'a', 2);
  expect(hits.map(({ step }) => step)).toEqual([101, 102]);
  expect(lastStep).toBe(102);
});

test('a text that later steps send again is one hit, which counts them', () => {
  const { hits } = search(['the key', 'other', 'the key', 'the key!', 'the key'], 'key');
  expect(hits.map(({ step, repeatedIn }) => [step, repeatedIn])).toEqual([
    [101, 2],
    [104, 0],
  ]);
});

test('a hit is in the lowest step that has the text, not in the spans above that repeat it', () => {
  const chat = (spanId: string, parentSpanId: string | null) => ({
    step: { ...operation('chat', { 'gen_ai.prompt': 'the key' }), spanId, parentSpanId },
    twin: 0,
    depth: 0,
    isCut: false,
  });
  const [root, middle, leaf, other] = ['1', '2', '3', '4'].map((digit) => digit.repeat(16));
  const steps = [
    { ...chat(root as string, null), number: 1 },
    { ...chat(middle as string, root as string), number: 2 },
    { ...chat(leaf as string, middle as string), number: 3 },
    { ...chat(other as string, root as string), number: 4 },
  ];
  const { hits } = searchSteps(steps, 'key');
  expect(hits).toMatchObject([{ step: 3, repeatedIn: 1 }]);
});

test('the strings of a JSON are not another hit', () => {
  const args = JSON.stringify({ command: 'print the key' });
  const step = operation('execute_tool', { 'gen_ai.tool.call.arguments': args });
  const steps = [{ step, number: 1, twin: 0, depth: 0, isCut: false }];
  expect(searchSteps(steps, 'key').hits).toMatchObject([{ text: 0, surface: 'tool_args' }]);
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
