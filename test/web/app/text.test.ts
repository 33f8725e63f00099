/** Texts on pages: marks around what was matched, names for what cannot be seen. */
import { describe, expect, test } from 'vitest';
import { markedText } from '../../../src/web/app/text.ts';
import { html } from '../../../src/web/html.ts';

const written = (...parameters: Parameters<typeof markedText>): string =>
  html`${markedText(...parameters)}`.text.replaceAll(' title="invisible characters"', '');
const mark = (start: number, end: number, findingId: string | null = 'f') => ({
  start,
  end,
  findingId,
});

describe('marks', () => {
  test('are around what was found, and nothing else', () => {
    expect(written('say <b> now', [mark(4, 7)])).toBe('say <mark>&lt;b&gt;</mark> now');
    expect(written('all', [mark(0, 3)])).toBe('<mark>all</mark>');
    expect(written('all of it', [])).toBe('all of it');
    expect(written('', [])).toBe('');
  });

  test('are put in order, and overlap without hiding each other', () => {
    const marks = [mark(6, 8), mark(0, 3), mark(2, 5, 'other')];
    expect(written('0123456789', marks, { soughtId: 'other', at: null })).toBe(
      '<mark>01</mark><mark class="sought" id="found">2</mark><mark class="sought">34</mark>5<mark>67</mark>89',
    );
  });

  test('of a search differ from those of findings', () => {
    expect(written('a b', [mark(0, 1), mark(2, 3, null)])).toBe(
      '<mark>a</mark> <mark class="search">b</mark>',
    );
  });

  test('and the place where reading continues is between characters', () => {
    const at = (place: number) => written('abc', [mark(1, 2)], { soughtId: null, at: place });
    expect(at(2)).toBe('a<mark>b</mark><span id="at"></span>c');
    expect(at(1)).toBe('a<span id="at"></span><mark>b</mark>c');
    expect(at(3)).toBe('a<mark>b</mark>c<span id="at"></span>');
    expect(at(9)).toBe('a<mark>b</mark>c');
  });
});

describe('invisible characters', () => {
  test.each([
    ['zero-width', 'a\u200bb', 'a<span class="unseen">⟨U+200B⟩</span>b'],
    ['many of one', `a${'\u200b'.repeat(500)}b`, 'a<span class="unseen">⟨U+200B⟩×500</span>b'],
    ['controls', '\u0007\u0000', '<span class="unseen">⟨U+0007⟩⟨U+0000⟩</span>'],
    ['tags', '\u{e0069}\u{e0067}', '<span class="unseen">⟨tag characters: ig⟩</span>'],
    ['hostile tags', '\u{e003c}', '<span class="unseen">⟨tag characters: &lt;⟩</span>'],
    ['half a character', 'a\ud83db', 'a<span class="unseen">⟨U+D83D⟩</span>b'],
    ['lines and tabs', 'a\n\tb\r\n', 'a\n\tb\r\n'],
    ['emoji', '❤️ 👨‍👩‍👧 ❤️‍🔥', '❤️ 👨‍👩‍👧 ❤️‍🔥'],
    [
      'selectors that are no emoji',
      '❤\ufe0f\ufe01',
      '❤<span class="unseen">⟨U+FE0F⟩⟨U+FE01⟩</span>',
    ],
  ])('%s', (_name, text, shown) => {
    expect(written(text, [])).toBe(shown);
  });

  test('are written out within a mark', () => {
    expect(written('ig\u200bn it', [mark(0, 4)])).toBe(
      '<mark>ig<span class="unseen">⟨U+200B⟩</span>n</mark> it',
    );
  });
});
