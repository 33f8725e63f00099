/** JSON as a tree that folds without a script: one `details` per object or list, within a limit. */
import { type JsonValue, parsedJson } from '../../../model/json.ts';
import { type Html, type HtmlValue, html } from '../../html.ts';
import { count } from '../format.ts';
import { seenText } from '../text.ts';

/** Most members and elements of one tree; the text beside it has the rest. */
const NODES_MAX = 300;
/** Structures below this depth are written on one line. */
const DEPTH_MAX = 12;
/** A structure with more members is folded, and so is one below this depth. */
const OPEN_MEMBERS_MAX = 12;
const OPEN_DEPTH = 3;
const STRING_UNITS_MAX = 2000;
const NAME_UNITS_MAX = 256;

/** A longer text is not parsed. */
const TEXT_UNITS_MAX = 16 * 1024;

/** The object or list that a text is; undefined for any other text. */
export function jsonOf(text: string): JsonValue | undefined {
  if (text.length > TEXT_UNITS_MAX || !/^\s*[[{]/.test(text)) return undefined;
  return parsedJson(text);
}

interface Room {
  nodes: number;
}

function scalar(value: null | boolean | number | string): Html {
  if (typeof value !== 'string') {
    return html`<span class="j-${value === null ? 'null' : typeof value}">${String(value)}</span>`;
  }
  const rest = value.length - STRING_UNITS_MAX;
  return html`<span class="j-string">${seenText(value.slice(0, STRING_UNITS_MAX))}</span>${rest > 0 && html` <span class="soft">… ${count(rest)} more characters</span>`}`;
}

const sizeOf = (size: number, unit: string): string =>
  `${count(size)} ${unit}${size === 1 ? '' : 's'}`;

function node(name: HtmlValue, value: JsonValue, depth: number, room: Room): Html {
  room.nodes -= 1;
  if (typeof value !== 'object' || value === null) {
    return html`<div class="j-leaf">${name}${scalar(value)}</div>`;
  }
  const isList = Array.isArray(value);
  const members: readonly (readonly [string, JsonValue])[] = isList
    ? value.map((one, at) => [String(at), one] as const)
    : Object.entries(value);
  const [open, close] = isList ? ['[', ']'] : ['{', '}'];
  if (members.length === 0) return html`<div class="j-leaf">${name}${open}${close}</div>`;
  if (depth >= DEPTH_MAX) return html`<div class="j-leaf">${name}${JSON.stringify(value)}</div>`;
  const inside: Html[] = [];
  for (const [key, one] of members) {
    if (room.nodes <= 0) break;
    const label = html`<span class="j-key">${key.slice(0, NAME_UNITS_MAX)}</span>: `;
    inside.push(node(label, one, depth + 1, room));
  }
  const rest = members.length - inside.length;
  const isOpen = depth < OPEN_DEPTH && members.length <= OPEN_MEMBERS_MAX;
  return html`<details${isOpen && html` open`}><summary>${name}<span class="soft">${open} ${sizeOf(members.length, isList ? 'item' : 'key')} ${close}</span></summary>
<div class="j-in">${inside}${rest > 0 && html`<p class="soft">${count(rest)} more are not shown here.</p>`}</div></details>`;
}

/** A tree of a value; its outermost level is open. */
export function jsonView(value: JsonValue): Html {
  return html`<div class="json">${node(null, value, 0, { nodes: NODES_MAX })}</div>`;
}
