/**
 * Owns the one way in which text becomes HTML: every value in a template is escaped unless it is HTML
 * already. Nothing else in the project writes a tag around a value.
 */

/** Markup that is safe to send as it is. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Nothing is written for null, undefined and false, so that `condition && html…` reads well. */
export type HtmlValue = Html | string | number | null | undefined | false | readonly HtmlValue[];

/** A template of markup; what stands in it is escaped for element content and quoted attributes. */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  let text = strings[0] ?? '';
  values.forEach((value, index) => {
    text += write(value) + (strings[index + 1] ?? '');
  });
  return new Html(text);
}

function write(value: HtmlValue): string {
  if (value === null || value === undefined || value === false) return '';
  if (value instanceof Html) return value.text;
  if (typeof value === 'object') return value.map(write).join('');
  return escapeHtml(String(value));
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? '');
}

/**
 * A block of data in a page, as `type`. It is not run; what could end the element or begin a comment
 * is written as JSON escapes.
 */
export function dataBlock(type: string, value: unknown): Html {
  const json = JSON.stringify(value).replace(/[<>&\u2028\u2029]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
  return new Html(`<script type="${escapeHtml(type)}">${json}</script>`);
}
