import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { showInvisible } from '../../src/model/invisible.ts';
import { dataBlock, escapeHtml, html } from '../../src/web/html.ts';
import { anyCharacter } from '../support/cases.ts';

describe('a template', () => {
  it('escapes its values in elements and attributes', () => {
    const name = `<script>"o'neill" & co</script>`;
    expect(html`<a title="${name}">${name}</a>`.text).toBe(
      '<a title="&lt;script&gt;&quot;o&#39;neill&quot; &amp; co&lt;/script&gt;">' +
        '&lt;script&gt;&quot;o&#39;neill&quot; &amp; co&lt;/script&gt;</a>',
    );
  });

  it('takes markup as it is, lists one by one, and nothing for nothing', () => {
    const items = ['a', 'b'].map((item) => html`<li>${item}</li>`);
    expect(html`<ul>${items}${null}${false}${undefined}${0}</ul>`.text).toBe(
      '<ul><li>a</li><li>b</li>0</ul>',
    );
  });

  it('writes out what is invisible in shown text, and sends back the rest as it is', () => {
    const name = 'gnp\u202e.\u2028\u200b\u001be\u{e0041}xe';
    const shown = 'gnp⟨U+202E⟩.⟨U+2028⟩⟨U+200B⟩⟨U+001B⟩e⟨tag characters: A⟩xe';
    expect(html`<p title="${name}">${name} ${[name]}</p>`.text).toBe(
      `<p title="${shown}">${shown} ${shown}</p>`,
    );
    expect(html`<input value="${name}"><a href="${name}">x</a>`.text).toBe(
      `<input value="${name}"><a href="${name}">x</a>`,
    );
  });

  it('lets no text begin a tag or leave an attribute, whatever it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), (text) => {
        const inner = html`${text}`.text;
        expect(inner).not.toMatch(/[<>"']/);
        expect(escapeHtml(showInvisible(text))).toBe(inner);
      }),
    );
  });
});

describe('a block of data', () => {
  it('cannot be left, and reads back as it was', () => {
    const value = { text: '</script><!-- \u2028 & "x"', list: [1, null] };
    const { text } = dataBlock('application/ld+json', value);
    const inner = /^<script type="application\/ld\+json">(.*)<\/script>$/s.exec(text)?.[1] ?? '';
    expect(inner).not.toMatch(/[<>&\u2028]/);
    expect(JSON.parse(inner)).toEqual(value);
  });
});
