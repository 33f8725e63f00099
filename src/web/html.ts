/**
 * Templates for HTML. Every value in a template is escaped unless it is `Html` already. No other code
 * puts a value into markup.
 */

import { showInvisible } from '../model/invisible.ts';

/** Markup that is safe to send as it is. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** null, undefined and false become nothing, so that `condition && html…` works. */
export type HtmlValue = Html | string | number | null | undefined | false | readonly HtmlValue[];

/** Attributes whose values are shown; those of others are sent back or name something. */
const SHOWN_ATTRIBUTE = /\s(?:title|aria-label|alt|placeholder|data-label)="[^"<>]*$/;

/**
 * Tag of a template; values are escaped for element content and quoted attributes. In what is shown,
 * invisible characters are written out.
 */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  let text = strings[0] ?? '';
  values.forEach((value, index) => {
    const isInTag = text.lastIndexOf('<') > text.lastIndexOf('>');
    const isShown = !isInTag || SHOWN_ATTRIBUTE.test(text.slice(text.lastIndexOf('<')));
    text += write(value, isShown) + (strings[index + 1] ?? '');
  });
  return new Html(text);
}

function write(value: HtmlValue, isShown: boolean): string {
  if (value === null || value === undefined || value === false) return '';
  if (value instanceof Html) return value.text;
  if (typeof value === 'object') return value.map((one) => write(one, isShown)).join('');
  return escapeHtml(isShown ? showInvisible(String(value)) : String(value));
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
 * A block of data in a page, not executed. Characters that could end the element or start a comment
 * are JSON escapes.
 */
export function dataBlock(type: string, value: unknown): Html {
  const json = JSON.stringify(value).replace(/[<>&\u2028\u2029]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
  return new Html(`<script type="${escapeHtml(type)}">${json}</script>`);
}
