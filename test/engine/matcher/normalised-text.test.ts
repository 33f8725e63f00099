import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type CharacterRange,
  normalise,
  normaliseWithChanges,
  settledLength,
  toWrittenRange,
} from '../../../src/engine/matcher/normalised-text.ts';
import { anyCharacter, casesOf } from '../../support/cases.ts';

/** Texts that hold what normalisation is about, and anything else. */
const tricky = fc
  .array(
    fc.oneof(
      fc.string({ unit: anyCharacter, maxLength: 4 }),
      fc.constantFrom(
        'е',
        'ο',
        '\u200b',
        '\u202e',
        '\u0301',
        'e',
        'ﬁ',
        'Ａ',
        'ᄀ',
        'ᅡ',
        '\u{e0041}',
      ),
      fc.constantFrom(
        '\ud83d',
        '\ude00',
        '가',
        'ｶ',
        'ﾞ',
        ' ',
        '\n',
        '😀',
        '\ufe0f',
        '\u00ad',
        'ﷺ',
        '½',
        '\v',
        '\u2028',
        'ϲ',
        'ͺ',
      ),
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join(''));

const toWritten = (text: string, range: CharacterRange) => toWrittenRange(text, range);
const changesIn = (text: string, most: number) => normaliseWithChanges(text, most).changes;

describe('normalise', () => {
  it('returns ASCII as the very string', () => {
    const text = 'plain ASCII, \u0000 \u007f';
    expect(normalise(text)).toBe(text);
  });

  it.each([
    ['zero-width characters', 'ig\u200bno\u2060re\ufeff', 'ignore'],
    ['direction overrides', '\u202eevil\u202c', 'evil'],
    ['soft hyphens and variation selectors', 'a\u00adb\ufe0f', 'ab'],
    ['full-width letters', 'ｉｇｎｏｒｅ', 'ignore'],
    ['ligatures', 'ﬁle', 'file'],
    ['Cyrillic look-alikes', 'іgnоrе рrеvіоus', 'ignore previous'],
    ['Greek look-alikes', 'Ιgnοre', 'Ignore'],
    ['a mark after an invisible', 'e\u200b\u0301', 'é'],
    ['a no-break space', 'a\u00a0b', 'a b'],
    ['a vertical tab', 'a\vb', 'a b'],
    ['a vertical tab between marks and other planes', '\v\u0301\v😀\v', ' \u0301 😀 '],
    ['a look-alike that NFKC would make another letter', 'ϲall Ϲall', 'call Call'],
    ['a look-alike that NFKC makes one', 'ignoϱe 𝛐', 'ignope o'],
  ])('%s', (_name, written, read) => {
    expect(normalise(written)).toBe(read);
  });

  it("makes every white space of JavaScript one of RE2's", () => {
    for (let point = 0; point <= 0xffff; point += 1) {
      const character = String.fromCharCode(point);
      if (!/\s/.test(character) || character === '\ufeff') continue;
      expect(normalise(`a${character}b`), point.toString(16)).toMatch(/^a[\t\n\f\r ]b$/);
    }
  });

  it("folds Unicode's Cyrillic and Greek look-alikes of one Latin letter", () => {
    // confusables.txt of Unicode 17.0: scripts Cyrl and Grek, mapped to one letter of ASCII. Its two
    // capitals that it maps to `l`, Ι and І, are `I` to the corpus's reference engine, and here.
    const alike =
      'аa ҽe еe ԁd һh іi ꙇi јj ӏl Ӏl оo рp ԛq гr ѕs ѵv ѡw ԝw шw хx уy үy Ьb АA ВB СC ЕE ԌG НH ЈJ КK МM ' +
      'ОO РP ЅS ТT ѴV ԜW ХX УY ҮY αa ιi ͺi ιi ϳj νv οo σo ρp ϱp ϸp ᴦr υu γy ΑA ΒB ϹC ΕE ϜF ΗH ͿJ ΚK ' +
      'ΜM ϺM ΝN ΟO ΡP ΤT ΧX ΥY ϒY ΖZ 𝈓F 𝈪L 𝈖R 𝈍V ϲc';
    for (const pair of alike.split(' ')) {
      const [letter = '', latin = ''] = pair;
      expect(normalise(letter), letter).toBe(latin);
    }
  });

  it('folds letter by letter: real Russian stays no Latin word', () => {
    expect(normalise('привет')).toBe('пpиbet');
  });

  it('reads marks of any script as NFKC does, wherever they are', () => {
    // Letters that are no look-alikes, marks of every kind: with and without a class, composing or not.
    const marks = [
      '\u0301',
      '\u0323',
      '\u0334',
      '\u0345',
      '\u093c',
      '\u094d',
      '\u093f',
      '\u05b0',
      '\u05bc',
    ];
    const others = [
      '\u0651',
      '\u064e',
      '\u0654',
      '\u0e31',
      '\u0e48',
      '\u0e33',
      '\u3099',
      '\u0dca',
      '\u0ddc',
    ];
    const letters = [...'zéक\u0958ששגกංගﬁ ', 'がﾊ'];
    const unit = fc.constantFrom(...letters, ...marks, ...others, '\u200d');
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 9 }), (text) => {
        const whole = text.replaceAll('\u200d', '').normalize('NFKC');
        fc.pre(!/^\p{M}/u.test(text) && !/\u200d\p{M}/u.test(text));
        expect(normalise(text)).toBe(whole);
      }),
      { numRuns: casesOf(20_000, 10) },
    );
  });

  it('never throws', () => {
    const anything = fc.string({ unit: anyCharacter });
    fc.assert(fc.property(anything, (text) => typeof normalise(text) === 'string'));
  });

  it('reads the settled part of a prefix the same, whatever follows', () => {
    fc.assert(
      fc.property(tricky, tricky, (text, rest) => {
        const settled = normalise(text).slice(0, settledLength(text));
        expect(normalise(text + rest).startsWith(settled)).toBe(true);
      }),
    );
  });
});

describe('toWrittenRange', () => {
  it('finds the written text behind a normalised range', () => {
    const written = 'now іg\u200bnоrе аll';
    const read = normalise(written);
    const start = read.indexOf('ignore');
    const range = toWritten(written, { start, end: start + 6 });
    expect(written.slice(range.start, range.end)).toBe('іg\u200bnоrе');
  });

  it('takes a cluster whole', () => {
    expect(toWritten('aﬁb', { start: 1, end: 2 })).toEqual({ start: 1, end: 2 });
    expect(toWritten('aﬁb', { start: 2, end: 4 })).toEqual({ start: 1, end: 3 });
  });

  it('maps every range to one that reads as a text holding it', () => {
    fc.assert(
      fc.property(tricky, fc.nat(), fc.nat(), (text, a, b) => {
        const read = normalise(text);
        const start = a % (read.length + 1);
        const end = start + (b % (read.length - start + 1));
        const range = toWritten(text, { start, end });
        expect(range.start).toBeGreaterThanOrEqual(0);
        expect(range.end).toBeLessThanOrEqual(text.length);
        expect(range.start).toBeLessThanOrEqual(range.end);
        if (end > start) {
          expect(normalise(text.slice(range.start, range.end))).toContain(read.slice(start, end));
        }
      }),
    );
  });
});

describe('normaliseWithChanges', () => {
  it.each<[string, number[]]>([
    ['plain', []],
    ['a — dash, 漢字', []],
    ['ig\u200bnore', [1, 2]],
    ['\u200bignore\u200b', [0, 0, 5, 6]],
    ['ｉｇnore', [0, 2]],
    ['pass… now…', [4, 7, 11, 14]],
  ])('%j is changed at %j', (text, changes) => {
    expect(changesIn(text, 10)?.normalised).toEqual(changes);
  });

  it('leaves the same characters outside', () => {
    fc.assert(
      fc.property(tricky, (text) => {
        const normalised = normalise(text);
        const none = { written: [], normalised: [] };
        const { written, normalised: changed } = changesIn(text, 100) ?? none;
        expect(written).toHaveLength(changed.length);
        for (let at = 0; at <= changed.length; at += 2) {
          const plain = normalised.slice(changed[at - 1] ?? 0, changed[at] ?? normalised.length);
          expect(text.slice(written[at - 1] ?? 0, written[at] ?? text.length)).toBe(plain);
        }
      }),
    );
  });

  it('lists no changes when there are too many', () => {
    expect(changesIn('ａ b '.repeat(20), 19)).toBeNull();
    expect(changesIn('ａ b '.repeat(20), 20)?.normalised).toHaveLength(40);
  });
});
