/** What every matcher must do at the cap of a surface: which text is read, and that a cut makes no hit. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Matcher } from '../../../src/engine/matcher/matcher.ts';
import type { Rule } from '../../../src/model/rules.ts';
import type { Surface, SurfaceText } from '../../../src/model/steps.ts';
import { casesOf } from '../../support/cases.ts';
import { tinyRule } from '../tiny-rules.ts';

/** The cap whose beginning of a long text has so many bytes, if the end is ASCII. */
export const capOfBeginning = (bytes: number) => Math.floor((bytes * 4) / 3);

const EVERYTHING = { enabled: () => true, capBytes: 65_536 };

function text(step: number, surface: Surface, content: string): SurfaceText {
  return { step, surface, text: content };
}

export function describeCap(name: string, create: (rules: readonly Rule[]) => Matcher): void {
  const hitsOf = (rules: readonly Rule[], texts: SurfaceText[], capBytes = 65_536) =>
    create(rules).match(texts, { enabled: () => true, capBytes }).hits;

  describe(`${name}: cap`, () => {
    it('misses what lies past it', () => {
      const rule = tinyRule({ conditions: [['content', 'needle']] });
      const result = create([rule]).match([text(0, 'step_input', `${'x'.repeat(20)} needle`)], {
        enabled: () => true,
        capBytes: 20,
      });
      expect(result).toEqual({ hits: [], undecided: [], texts: 1, truncated: 1 });
    });

    it.each([
      ['$', 'foo$', 'foobar', 3],
      ['\\b', '\\bfoo\\b', 'foobar', 3],
      ['a negated class', '^[^!]+$', 'aaa!', 3],
      ['half a cluster', 'cafe$', 'cafe\u0301', 4],
      ['half a cluster, normalised', '^ìcafe', 'ìcafe\u0301', 7],
    ])('never invents: %s', (_name, pattern, content, capBytes) => {
      const rule = tinyRule({ conditions: [['content', pattern]] });
      const whole = hitsOf([rule], [text(0, 'step_input', content)], 1000);
      const cut = hitsOf([rule], [text(0, 'step_input', content)], capBytes);
      expect(cut.length).toBeLessThanOrEqual(whole.length);
    });

    it('keeps a hit that touches the cut and holds without it', () => {
      const rule = tinyRule({ conditions: [['content', 'foo+']] });
      expect(hitsOf([rule], [text(0, 'step_input', 'a fooooo')], 5)).toMatchObject([
        { start: 2, end: 8 },
      ]);
    });

    it('follows a hit that touches the cut to its own end', () => {
      const rule = tinyRule({ conditions: [['content', 'ignore.*(?:\\bend|$)']] });
      const content = `an ignore${'x'.repeat(10_000)} end and ignore`;
      expect(hitsOf([rule], [text(0, 'step_input', content)], 20)).toMatchObject([
        { start: 3, end: content.length },
      ]);
    });

    it.each([
      ['written', 'x'],
      ['normalised', 'о'],
    ])('misses a hit whose end lies too far past the cut: %s', (_form, letter) => {
      const rule = tinyRule({ conditions: [['content', 'u:[xo]+(?:!|$)']] });
      const settings = { enabled: () => true, capBytes: 20 };
      const match = (length: number) =>
        create([rule]).match([text(0, 'step_input', `u:${letter.repeat(length)}`)], settings);
      expect(match(100_000).hits).toMatchObject([{ start: 0, end: 100_002 }]);
      // Not `undecided`: what lies past the cap is missed, and the text counts as truncated.
      expect(match(300_000)).toEqual({ hits: [], undecided: [], texts: 1, truncated: 1 });
    });

    it('keeps a hit that extends far past the cut if its beginning is a hit', () => {
      const rule = tinyRule({ conditions: [['content', 'redis://\\S{10,}']] });
      for (const letter of ['x', 'о']) {
        const content = `${'an '.repeat(10)}redis://${letter.repeat(400_000)}`;
        expect(hitsOf([rule], [text(0, 'step_input', content)], 80)).toMatchObject([
          { start: 30, end: 48 },
        ]);
      }
    });

    it('takes an empty match of an uncut text, and none that the cut made', () => {
      const rule = tinyRule({ conditions: [['content', '(?m)$|bar']] });
      expect(hitsOf([rule], [text(0, 'step_input', 'foo')], 3)).toMatchObject([
        { start: 3, end: 3 },
      ]);
      expect(hitsOf([rule], [text(0, 'step_input', 'foobar')], 3)).toEqual([]);
    });

    it('does not take a hit that lies past it for one that touched it', () => {
      const rule = tinyRule({ conditions: [['content', 'foo$']] });
      expect(hitsOf([rule], [text(0, 'step_input', 'a foobar foo')], 5)).toEqual([]);
    });

    it('is shared by the texts of one surface and step, and not by others', () => {
      const rule = tinyRule({ conditions: [['content', 'needle']] });
      const filler = text(0, 'step_input', 'x'.repeat(10));
      expect(hitsOf([rule], [text(0, 'step_input', 'a needle'), filler], 12)).toEqual([]);
      expect(hitsOf([rule], [filler, text(0, 'step_input', 'a needle')], 12)).toHaveLength(1);
      expect(hitsOf([rule], [filler, text(0, 'tool_args', 'a needle')], 12)).toHaveLength(1);
      expect(hitsOf([rule], [filler, text(1, 'step_input', 'a needle')], 12)).toHaveLength(1);
    });

    it('is spent from the newest text backwards; what is older is counted as truncated', () => {
      const rule = tinyRule({ conditions: [['content', 'needle']] });
      const older = Array.from({ length: 80 }, (_, at) =>
        text(0, 'step_input', `${at} ${'x'.repeat(90)}`),
      );
      const newest = text(0, 'step_input', 'a needle');
      const settings = { enabled: () => true, capBytes: 1000 };
      expect(create([rule]).match([...older, newest], settings)).toEqual({
        hits: [
          { ruleIndex: 0, conditionIndex: 0, textIndex: 80, form: 'written', start: 2, end: 8 },
        ],
        undecided: [],
        // The newest, ten whole ones, and what is left of the eleventh.
        texts: 12,
        truncated: 70,
      });
      expect(create([rule]).match([newest, ...older], settings).hits).toEqual([]);
    });

    it('gives the first place among the texts that are read', () => {
      const rule = tinyRule({ conditions: [['content', 'needle']] });
      const texts = ['first needle', 'x'.repeat(30), 'second needle', 'third needle'];
      const all = texts.map((content) => text(0, 'step_input', content));
      expect(hitsOf([rule], all, 100)).toMatchObject([{ textIndex: 0 }]);
      expect(hitsOf([rule], all, 40)).toMatchObject([{ textIndex: 2 }]);
    });

    it('reads the beginning and the end of a long text, and not what is between', () => {
      const rule = tinyRule({ conditions: [['content', 'needle']] });
      const pad = 'x'.repeat(200);
      const isHit = (content: string) =>
        hitsOf([rule], [text(0, 'tool_result', content)], 100).length === 1;
      expect(isHit(`needle ${pad}`)).toBe(true);
      expect(isHit(`${pad} needle`)).toBe(true);
      expect(isHit(`${pad} needle ${pad}`)).toBe(false);
      const written = `${pad} é nееdle 😀`;
      const [hit] = hitsOf([rule], [text(0, 'tool_result', written)], 100);
      expect(written.slice(hit?.start, hit?.end)).toBe('nееdle');
    });

    it('leaves half to older texts when the newest does not fit', () => {
      const rule = tinyRule({ conditions: [['content', 'needle']] });
      const long = text(0, 'tool_result', 'x'.repeat(50_000));
      const older = text(0, 'tool_result', `${'y'.repeat(8_000)} needle ${'y'.repeat(1_900)}`);
      expect(hitsOf([rule], [older, long], 20_000)).toMatchObject([{ textIndex: 0 }]);
      // What older texts do not need, it gets; of less than 8 KiB more than half.
      const end = 'x'.repeat(50_000);
      const alone = text(0, 'tool_result', `${'x'.repeat(12_000)} needle${end}`);
      expect(hitsOf([rule], [text(0, 'tool_result', 'y'), alone], 20_000)).toHaveLength(1);
      const few = text(0, 'tool_result', `${'x'.repeat(2_900)} needle${end}`);
      expect(hitsOf([rule], [text(0, 'tool_result', end), few], 5_000)).toHaveLength(1);
      expect(hitsOf([rule], [text(0, 'tool_result', end), few], 4_000)).toHaveLength(1);
      expect(hitsOf([rule], [text(0, 'tool_result', end), few], 3_800)).toEqual([]);
    });

    it.each([
      ['^', '^needle'],
      ['^ of a line', '(?m)^needle'],
      ['\\b', '\\bneedle'],
      ['\\B', '\\Bneedle'],
    ])('the end of a text does not begin like a text: %s', (_name, pattern) => {
      const rule = tinyRule({ conditions: [['content', pattern]] });
      const matcher = create([rule]);
      const pad = 'x'.repeat(300);
      for (const before of ['x', ' ', '\n', 'é', 'е\u0301', '\u200b', '\ufeff']) {
        const content = `${pad}${before}needle${'z'.repeat(90)}`;
        const isHit = (capBytes: number) => {
          const texts = [text(0, 'step_input', content)];
          return matcher.match(texts, { enabled: () => true, capBytes }).hits.length > 0;
        };
        const whole = isHit(10_000);
        for (let capBytes = 360; capBytes < 400; capBytes += 1) {
          expect(isHit(capBytes) && !whole, JSON.stringify({ before, capBytes })).toBe(false);
        }
      }
    });

    it('is not used up by history', () => {
      const rule = tinyRule({ conditions: [['content', 'needle']] });
      const history = 'x'.repeat(12);
      const texts = [
        text(0, 'step_input', history),
        text(1, 'step_input', history),
        text(1, 'step_input', 'a needle'),
      ];
      expect(hitsOf([rule], texts, 12)).toMatchObject([{ textIndex: 2 }]);
    });

    it('can lose a hit, never make one, wherever it falls', () => {
      const patterns = [
        '^[^b]*$',
        'a\\b',
        '\\Ba',
        'e$',
        '(?m)^é$',
        'o\\b|[^a]$',
        'ignore',
        'a{2,}$',
      ];
      const content = fc
        .array(
          fc.constantFrom('a', 'b', 'e', '\u0301', 'о', '\u200b', '\n', ' ', 'é', '😀', 'ignore'),
          {
            maxLength: 14,
          },
        )
        .map((parts) => parts.join(''));
      const matchers = patterns.map((pattern) =>
        create([tinyRule({ conditions: [['content', pattern]] })]),
      );
      fc.assert(
        fc.property(content, content, fc.nat({ max: 40 }), (written, newer, capBytes) => {
          for (const matcher of matchers) {
            const texts = [text(0, 'step_input', written), text(0, 'step_input', newer)];
            const cut = matcher.match(texts, { enabled: () => true, capBytes }).hits.length;
            const whole = matcher.match(texts, EVERYTHING).hits.length;
            expect(cut).toBeLessThanOrEqual(whole);
          }
        }),
        { numRuns: casesOf(1000) },
      );
    });
  });
}
