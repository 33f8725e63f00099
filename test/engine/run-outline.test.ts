/** The outline of a page of steps: one per turn, no more text than a page shows, findings marked. */
import { describe, expect, test } from 'vitest';
import { type OutlineView, outlineInPieces } from '../../src/engine/run-outline.ts';
import { nameDigest } from '../../src/engine/step-name.ts';
import type { Finding } from '../../src/model/findings.ts';
import type { TextView } from '../../src/model/run-page.ts';
import type { Step } from '../../src/model/steps.ts';
import { NO_USAGE } from '../../src/model/usage.ts';
import { finding } from '../web/app/fixtures.ts';
import { log, operation, span } from './steps.ts';

const SPAN_ID = '00f067aa0ba902b7';
const NOTHING: OutlineView = {
  findings: [],
  open: null,
  only: null,
  hiddenNames: new Set(),
};
const READ: TextView = {
  findingId: null,
  step: 1,
  text: 0,
  from: null,
  to: null,
  at: null,
  query: null,
};

const isTwin = (one: Step, other: Step): boolean =>
  one.source === other.source &&
  one.startUnixNano === other.startUnixNano &&
  one.spanId === other.spanId;

function outlineOf(
  steps: readonly Step[],
  view: Partial<OutlineView> = {},
  owners: readonly Step[] = [],
) {
  const numbered = steps.map((step, index) => ({
    step,
    number: index + 1,
    twin: steps.slice(0, index).filter((one) => isTwin(one, step)).length,
    depth: 0,
    isCut: index === 1,
  }));
  const pieces = outlineInPieces({ steps: numbered, owners }, { ...NOTHING, ...view });
  for (let turns = 0; ; turns += 1) {
    const piece = pieces.next();
    if (piece.done === true) return { turns, ...piece.value };
  }
}

/** A finding in the input of the first span. */
function found(text: string, matched: string, fields: Partial<Finding> = {}): Finding {
  const start = text.indexOf(matched);
  const end = start + matched.length;
  return finding({
    surface: 'step_input',
    stepSpanId: SPAN_ID,
    stepName: 'a span',
    excerpt: matched,
    place: {
      step: 1,
      source: 'span',
      startUnixNano: '1',
      twin: 0,
      text: 0,
      match: { start, end },
      inExcerpt: { start: 0, end: matched.length },
      nameDigests: [],
    },
    ...fields,
  });
}
const chat = (text: string): Step => operation('chat', { 'gen_ai.prompt': text });
const markedIn = ({ steps }: ReturnType<typeof outlineOf>): string[] =>
  steps.flatMap(({ texts }) =>
    texts.flatMap(({ text, marks }) => marks.map(({ start, end }) => text.slice(start, end))),
  );

test('one small step a turn', () => {
  expect(outlineOf([span(), span(), span()]).turns).toBe(3);
  expect(outlineOf([])).toEqual({ turns: 0, steps: [], title: null, usage: NO_USAGE });
});

test('a step with many texts takes a turn for each five hundred, each value and each fifty events', () => {
  const messages = (count: number) =>
    JSON.stringify(
      Array.from({ length: count }, (_, at) => ({ role: 'user', content: `text ${at}` })),
    );
  const turnsOf = (step: Step) => outlineOf([step]).turns;
  const many = (count: number) => operation('chat', { 'gen_ai.input.messages': messages(count) });
  expect(turnsOf(many(1))).toBe(2);
  expect(turnsOf(many(2_000))).toBe(2 + 4);
  const values = { 'gen_ai.input.messages': messages(1), 'gen_ai.output.messages': messages(1) };
  expect(turnsOf(operation('chat', values))).toBe(3);
  const events = Array.from({ length: 200 }, (_, at) => ({
    name: 'gen_ai.user.message',
    attributes: { content: `text ${at}` },
  }));
  expect(turnsOf({ ...operation('chat'), events })).toBe(1 + 4);
});

test('a log record is of the kind of its span, which may come later or be on another page', () => {
  const { steps } = outlineOf([log(), operation('chat')]);
  expect(steps.map(({ outline }) => outline.kind)).toEqual(['llm', 'llm']);
  const alone = outlineOf([log()], {}, [operation('chat')]);
  expect(alone.steps.map(({ outline }) => outline.kind)).toEqual(['llm']);
});

test('a log record has the name of its event, wherever its sender wrote it', () => {
  const named = log({ name: 'column', attributes: { 'event.name': 'attribute' } });
  const { steps } = outlineOf([named, log({ name: 'column' })]);
  expect(steps.map(({ outline }) => outline.name)).toEqual(['attribute', 'column']);
});

test('a hidden name is hidden on every step that has it', () => {
  const steps = [span({ name: 'a' }), span({ name: 'b' }), span({ name: 'a', spanId: null })];
  const names = (hiddenNames: OutlineView['hiddenNames']) =>
    outlineOf(steps, { hiddenNames }).steps.map(({ outline }) => outline.name);
  expect(names(new Set([nameDigest('b')]))).toEqual(['a', null, 'a']);
  expect(names(new Set([nameDigest('a')]))).toEqual([null, 'b', null]);
});

test('sizes count every text, pages get the first ones, and cut steps say so', () => {
  const events = Array.from({ length: 200 }, (_, at) => ({
    name: 'gen_ai.user.message',
    attributes: { content: `text ${at}` },
  }));
  const step = { ...operation('chat'), events };
  const { steps } = outlineOf([step, ...Array<typeof step>(20).fill(step)]);
  expect(steps[0]?.outline.surfaces).toMatchObject([{ surface: 'step_input', texts: 200 }]);
  expect(steps[0]?.texts).toHaveLength(50);
  expect(steps.reduce((sum, { texts }) => sum + texts.length, 0)).toBe(500);
  expect(steps.filter(({ outline }) => outline.isCut)).toEqual([steps[1]]);
});

test('all texts of a page together are bounded', () => {
  const { steps } = outlineOf(
    Array.from({ length: 200 }, (_, at) => chat(`${at} ${'word '.repeat(1800)}`)),
  );
  const units = steps.flatMap(({ texts }) => texts).reduce((sum, { text }) => sum + text.length, 0);
  expect(units).toBe(192 * 1024);
});

test('parts of invisible characters are shorter: each of these is an element of the page', () => {
  const text = 'ab\u200b'.repeat(100_000);
  const [step] = outlineOf([chat(text)], { open: { ...READ, from: 0, to: 65_536 } }).steps;
  expect(step?.texts[0]?.text).toHaveLength(4096 * 3 + 2);
  const units = outlineOf(Array.from({ length: 200 }, (_, at) => chat(`${at}${text}`)))
    .steps.flatMap(({ texts }) => texts)
    .reduce((sum, one) => sum + one.text.length, 0);
  expect(units).toBeLessThan(40_000);
});

test('a long text is shown by its beginning, never with half a character', () => {
  const shown = `${'word '.repeat(399)}word`;
  const text = `${shown}😀 and more`;
  const { steps } = outlineOf([chat(text)]);
  expect(shown).toHaveLength(1999);
  expect(steps[0]?.texts).toEqual([
    {
      surface: 'step_input',
      index: 0,
      start: 0,
      length: text.length,
      text: shown,
      marks: [],
      isEarlier: false,
    },
  ]);
});

describe('the only step that is shown', () => {
  const steps = [chat(`first ${'word '.repeat(1000)}`), chat('second'), chat('third')];

  test('has its texts and details, and longer parts of them', () => {
    const outlined = outlineOf(steps, { only: 1 }).steps;
    expect(outlined.map(({ texts }) => texts.length)).toEqual([1, 0, 0]);
    expect(outlined[0]?.texts[0]?.text).toHaveLength(5006);
    expect(outlined.map(({ details }) => details === null)).toEqual([false, true, true]);
  });

  test('is read whatever the steps before it have', () => {
    const many = [...Array.from({ length: 200 }, () => chat('x'.repeat(4000))), chat('the last')];
    const outlined = outlineOf(many, { only: 201 }).steps;
    expect(outlined.at(-1)?.texts[0]?.text).toBe('the last');
  });
});

test('the first user input is the title, on one line, never with half a character', () => {
  const tool = operation('execute_tool', { 'gen_ai.tool.call.result': 'a result' });
  expect(outlineOf([tool, chat('  What\n is\tit? '), chat('later')]).title).toBe('What is it?');
  expect(outlineOf([tool]).title).toBeNull();
  expect(outlineOf([chat(`${'x'.repeat(199)}😀`)]).title).toBe('x'.repeat(199));
});

describe('a finding', () => {
  const LONG = `${'before '.repeat(5000)}the match${' after'.repeat(6000)}`;

  test('is marked, and the part around its match is shown', () => {
    const outlined = outlineOf([chat(LONG)], { findings: [found(LONG, 'the match')] });
    const [text] = outlined.steps[0]?.texts ?? [];
    expect(markedIn(outlined)).toEqual(['the match']);
    expect(text?.text).toHaveLength(4000);
    expect(text?.start).toBe(LONG.indexOf('the match') - 800);
  });

  test('says what the rule read, where that differs from the text', () => {
    const text = 'ig\u200bnоre it';
    const { steps } = outlineOf([chat(text)], { findings: [found(text, 'ig\u200bnоre')] });
    expect(steps[0]?.texts[0]?.marks).toMatchObject([{ readAs: 'ignore' }]);
  });

  test('that is read decides which part of the text is shown', () => {
    const one = found(LONG, 'the match');
    const part = (from: number | null, to: number | null = null) => {
      const open = { ...READ, findingId: one.id, from, to };
      const [step] = outlineOf([chat(LONG)], { findings: [one], open }).steps;
      return [step?.open, step?.texts[0]?.start, step?.texts[0]?.text.length];
    };
    expect(part(null)).toEqual([0, LONG.indexOf('the match') - 800, 4000]);
    expect(part(100, 300)).toEqual([0, 100, 200]);
    expect(part(300, 100)).toEqual([0, 300, 0]);
    expect(part(0, 1e9)).toEqual([0, 0, 64 * 1024]);
    expect(part(1e9)).toEqual([0, LONG.length - 1, 1]);
  });

  test('is sought by its excerpt where the text is at another place', () => {
    const text = 'first\n\tthe\u200b (match), and more';
    const excerpt = '…the⟨U+200B⟩ (match), and…';
    const moved = found(text, 'first', {
      excerpt,
      place: {
        ...found(text, 'x').place,
        text: 7,
        inExcerpt: { start: 14, end: 19 },
      },
    });
    const view = (findings: Finding[]) => markedIn(outlineOf([chat(text)], { findings }));
    expect(view([moved])).toEqual(['match']);
    expect(view([{ ...moved, excerpt: 'not there' }])).toEqual([]);
    expect(view([{ ...moved, excerpt: null }])).toEqual([]);
  });

  test('whose excerpt is gone is marked by its place alone', () => {
    const one = found('say the word', 'the', { excerpt: null });
    expect(markedIn(outlineOf([chat('say the word')], { findings: [one] }))).toEqual(['the']);
  });

  test('is at the step with its source, start and span of several the one before which as many come', () => {
    const at = (fields: Partial<Step>) => log({ spanId: null, startUnixNano: '5', ...fields });
    const steps = [
      at({}),
      at({}),
      at({ startUnixNano: '6' }),
      at({}),
      span({ startUnixNano: '5' }),
    ];
    const place = (twin: number) => ({
      ...found('x', 'x').place,
      source: 'log' as const,
      startUnixNano: '5',
      twin,
    });
    const stepOf = (fields: Partial<Finding>) =>
      outlineOf(steps, {
        findings: [found('x', 'x', { stepSpanId: null, ...fields })],
      }).steps.flatMap(({ findings, number }) => (findings.length > 0 ? [number] : []));
    expect(stepOf({ place: place(0) })).toEqual([1]);
    expect(stepOf({ place: place(1) })).toEqual([2]);
    expect(stepOf({ place: place(2) })).toEqual([4]);
    expect(stepOf({ place: place(3) })).toEqual([]);
    expect(stepOf({ place: place(0), stepSpanId: SPAN_ID })).toEqual([]);
  });
});

test('a phrase is marked where a text is read, whatever its letter case and white space', () => {
  const open = { ...READ, query: 'two  words (a)' };
  const text = 'Two\nwords (A), two words (a); two words';
  expect(markedIn(outlineOf([chat(text)], { open }))).toEqual(['Two\nwords (A)', 'two words (a)']);
});

test('a text is shown in one form: its JSON, or the form that has the match', () => {
  const args = JSON.stringify({ command: 'print the key' });
  const step = operation('execute_tool', { 'gen_ai.tool.call.arguments': args });
  const [plain] = outlineOf([step]).steps;
  expect(plain?.texts.map(({ text }) => text)).toEqual([args]);
  expect(plain?.textsLeftOut).toBe(0);
  expect(plain?.snippet).toBe('print the key');
  const place = { ...found('print the key', 'the key').place, text: 1 };
  const match = found('print the key', 'the key', { surface: 'tool_args', place });
  const [marked] = outlineOf([step], { findings: [match] }).steps;
  expect(marked?.texts.map(({ text, index }) => [index, text])).toEqual([[1, 'print the key']]);
});

test('texts that the call before had come last, in the only step that is shown', () => {
  const messages = (...texts: string[]) =>
    operation('chat', {
      'gen_ai.input.messages': JSON.stringify(
        texts.map((content) => ({ role: 'user', parts: [{ type: 'text', content }] })),
      ),
    });
  const steps = [messages('one', 'two'), messages('one', 'two', 'three')];
  const [, own] = outlineOf(steps, { only: 2, before: 1 }).steps;
  expect(own?.texts.map(({ text, isEarlier }) => [text, isEarlier])).toEqual([
    ['three', false],
    ['one', true],
    ['two', true],
  ]);
  expect(own?.earlier).toBe(2);
  expect(outlineOf(steps, { only: 2 }).steps[1]?.earlier).toBe(0);
});
