import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type PreparedRun, RunTexts } from '../../../src/engine/matcher/run-texts.ts';
import { cutText } from '../../../src/engine/matcher/text-cut.ts';
import type { SurfaceText } from '../../../src/model/steps.ts';
import { casesOf } from '../../support/cases.ts';

function prepare(runTexts: RunTexts, texts: readonly SurfaceText[]): PreparedRun {
  const work = runTexts.prepare(texts, () => false).next();
  if (work.done !== true) throw new Error('it paused');
  return work.value;
}

const letters = fc.constantFrom('a', ' ', 'é', '😀', '\u0301', '\u200b', '\ufeff', '\ud800');
const content = fc
  .tuple(fc.array(letters, { minLength: 1, maxLength: 12 }), fc.nat({ max: 1500 }))
  .map(([some, times]) => some.join('').repeat(1 + times));

describe('the cap of a surface', () => {
  it('is never exceeded, and its newest text is read whole or at both ends', () => {
    fc.assert(
      fc.property(
        fc.array(content, { minLength: 1, maxLength: 6 }),
        fc.integer({ min: 0, max: 20_000 }),
        (contents, capBytes) => {
          const texts = contents.map((text) => ({ step: 0, surface: 'step_input', text }) as const);
          const { distinct } = prepare(new RunTexts(capBytes, () => []), texts);
          const bytes = distinct.reduce((sum, { text }) => sum + text.bytes, 0);
          expect(bytes).toBeLessThanOrEqual(capBytes);
          const newest = contents.at(-1) ?? '';
          const size = Buffer.byteLength(newest);
          const read = distinct.find(({ textIndex }) => texts[textIndex]?.text === newest)?.text;
          if (size <= capBytes) expect(read).toMatchObject({ bytes: size, cut: false });
          else if (capBytes >= 1000) expect(read?.bytes).toBeGreaterThan(capBytes * 0.35);
          const places = distinct.map(({ textIndex }) => textIndex);
          expect(places).toEqual(places.toSorted((a, b) => a - b));
        },
      ),
      { numRuns: casesOf(300) },
    );
  });

  it('is spent by recency where that is known', () => {
    const texts = ['a'.repeat(60), 'b'.repeat(60), 'c'.repeat(60)].map(
      (text, index) =>
        ({ step: 0, surface: 'tool_result', text, recency: [2, 0, 1][index] ?? 0 }) as const,
    );
    const { distinct } = prepare(new RunTexts(120, () => []), texts);
    expect(distinct.map(({ textIndex }) => textIndex)).toEqual([0, 2]);
  });

  it('gives a text that was cut in an earlier step only what is left', () => {
    const runTexts = new RunTexts(100, () => []);
    const long = { surface: 'tool_result', text: 'x'.repeat(500) } as const;
    const old = { surface: 'tool_result', text: 'y'.repeat(90) } as const;
    prepare(runTexts, [{ step: 0, ...long }]);
    const { distinct } = prepare(runTexts, [
      { step: 1, ...old },
      { step: 1, ...long },
    ]);
    expect(distinct.map(({ textIndex, text }) => [textIndex, text.bytes])).toEqual([[0, 90]]);
  });

  it('two parts of a text do not overlap, and begin and end as it does', () => {
    fc.assert(
      fc.property(content, fc.nat({ max: 20_000 }), (text, capBytes) => {
        const { beginning, end } = cutText(text, capBytes);
        const whole = text.toWellFormed();
        expect(whole.startsWith(beginning.text)).toBe(true);
        expect(beginning.cut).toBe(Buffer.byteLength(text) > capBytes);
        if (end === null) return;
        expect(whole.endsWith(end.text)).toBe(true);
        expect(end.offset).toBe(whole.length - end.text.length);
        expect(beginning.text.length).toBeLessThan(end.offset + 1);
        expect(end.contextUnits).toBeLessThan(end.text.length);
      }),
      { numRuns: casesOf(500) },
    );
  });
});
