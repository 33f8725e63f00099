/** The shell of the dashboard's pages, with navigation and user, and parts that many pages use: forms, filters, links. */
import type { Severity } from '../../model/rules.ts';
import { RUN_NAME_ROWS, RUN_NAMES, type RunName, type RunNames } from '../../model/runs.ts';
import { type EntityKind, entityPath } from '../../model/shown/entities.ts';
import { type Html, type HtmlValue, html } from '../html.ts';
import { type AssetPaths, page } from '../layout.ts';

export interface Viewer {
  readonly email: string;
  readonly role: string;
  readonly workspaceName: string;
  readonly workspaceSlug: string;
  readonly plan: string;
  /** may write */
  readonly isAdmin: boolean;
}

export interface Look {
  readonly brand: string;
  readonly assets: AssetPaths;
}

interface AppPage {
  readonly title: string;
  /** of the entry of the navigation that the page belongs to */
  readonly current: string;
  /** uses the whole width of a large screen */
  readonly isWide?: boolean;
  readonly main: HtmlValue;
}

const ENTRIES: readonly {
  readonly href: string;
  readonly label: string;
  readonly admins: boolean;
  readonly also?: string;
}[] = [
  { href: '/app', label: 'Overview', admins: false },
  // Its pages are below /app/findings, too.
  { href: '/app/incidents', label: 'Findings', admins: false, also: '/app/findings' },
  { href: '/app/runs', label: 'Runs', admins: false },
  { href: '/app/logs', label: 'Logs', admins: false },
  { href: '/app/rules', label: 'Rules', admins: false },
  { href: '/app/keys', label: 'Keys', admins: false },
  { href: '/app/members', label: 'Members', admins: false },
  { href: '/app/audit', label: 'Audit', admins: true },
  { href: '/app/settings', label: 'Settings', admins: false },
  { href: '/docs', label: 'Docs', admins: false },
];

/**
 * The path of a write, with the workspace that this page shows. The session may have switched to
 * another workspace in a second tab by the time the form is sent.
 */
export function writeTo(path: string, { workspaceSlug }: Viewer): string {
  return `${path}?workspace=${encodeURIComponent(workspaceSlug)}`;
}

/**
 * A form that changes something. Without the script, the browser shows the page that answers it. The
 * script sends it without leaving this page, and shows an error in the form.
 */
export function writeForm(action: string, content: HtmlValue, className = '', id = ''): Html {
  const attributes = html`${className !== '' && html` class="${className}"`}${id !== '' && html` id="${id}"`}`;
  return html`<form${attributes} method="post" action="${action}" data-stay>${content}<p role="alert"></p></form>`;
}

export function appPage(look: Look, viewer: Viewer, view: AppPage): Html {
  const { title, current, main, isWide = false } = view;
  return page({
    ...look,
    isWide,
    title,
    navigation: ENTRIES.filter(({ admins }) => viewer.isAdmin || !admins).map((entry) => ({
      href: entry.href,
      label: entry.label,
      isCurrent: entry.href === current || entry.also === current,
    })),
    aside: html`<span title="${viewer.email}, ${viewer.role}">${viewer.workspaceName}</span>
<form method="post" action="/app/sign-out"><button class="quiet">Sign out</button></form>`,
    main,
  });
}

function plainPage(look: Look, title: string, main: HtmlValue): Html {
  const navigation = [
    { href: '/app', label: 'Dashboard', isCurrent: false },
    { href: '/docs', label: 'Docs', isCurrent: false },
  ];
  return page({ ...look, title, navigation, main: html`<div class="narrow">${main}</div>` });
}

interface ErrorView {
  readonly title: string;
  readonly detail: string;
  readonly faults: readonly string[];
  readonly current?: string;
  /** to correct what was typed */
  readonly form?: Html;
  /** slug of the workspace that a refused write was for; a button switches to it */
  readonly switchTo?: string;
}

/** @param viewer the signed-in user, whose navigation is shown; null when there is none */
export function errorPage(look: Look, viewer: Viewer | null, view: ErrorView): Html {
  const { title, detail, faults, current = '', form, switchTo } = view;
  const main = html`<h1>${title}</h1><div class="refusal"><p>${detail}</p>
${faults.length > 0 && html`<ul>${faults.map((fault) => html`<li>${fault}</li>`)}</ul>`}</div>
${form}
${
  switchTo !== undefined &&
  html`<form method="post" action="/app/workspace"><input type="hidden" name="workspace" value="${switchTo}">
<p><button>Go to the workspace ${switchTo}</button></p></form>`
}
<p><a class="button${switchTo !== undefined && ' quiet'}" href="/app">Back to the overview</a></p>`;
  return viewer === null
    ? plainPage(look, title, main)
    : appPage(look, viewer, { title, current, main });
}

interface ShownOncePage {
  readonly title: string;
  readonly current: string;
  readonly lead: string;
  readonly secret: string;
  readonly more?: HtmlValue;
}

/** A new key or an invitation's link, which is shown this once. */
export function shownOncePage(look: Look, viewer: Viewer, shown: ShownOncePage): Html {
  return appPage(look, viewer, {
    title: shown.title,
    current: shown.current,
    main: html`<h1>${shown.title}</h1>
<p class="lead">${shown.lead}</p>
<p><code class="secret">${shown.secret}</code></p>
${shown.more}
<p><a class="button" href="${shown.current}">Done</a></p>`,
  });
}

export function severityBadge(severity: Severity): Html {
  return html`<span class="badge ${severity}">${severity}</span>`;
}

export function crumb(href: string, label: string): Html {
  return html`<nav class="crumb" aria-label="Breadcrumb"><a href="${href}">${label}</a></nav>`;
}

/** A button for something that cannot be undone: the form appears after a warning, without a script. */
export function confirmed(label: HtmlValue, warning: HtmlValue, form: Html): Html {
  return html`<details class="confirmed"><summary>${label}</summary><div><p>${warning}</p>${form}</div></details>`;
}

/** A table that scrolls sideways on a narrow screen, also by the keyboard. */
export function scrolling(label: string, table: Html): Html {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${label}">${table}</div>`;
}

interface ColumnLook {
  readonly className?: 'number' | 'what';
  /** when it is more than the label */
  readonly head?: Html;
}

/** The label is the head, and on a narrow screen is before the cell. */
type Column<Row> = readonly [label: string, cell: (row: Row) => HtmlValue, look?: ColumnLook];

export const NUMBER: ColumnLook = { className: 'number' };

/** A list as a table; on a narrow screen each row is a block. */
export function listTable<Row>(
  name: string,
  rows: readonly Row[],
  columns: readonly (Column<Row> | false)[],
  className = 'stack',
): Html {
  const shown = columns.filter((column) => column !== false);
  const classOf = (look?: ColumnLook): HtmlValue =>
    look?.className !== undefined && html` class="${look.className}"`;
  const head = shown.map(
    ([label, , look]) => html`<th scope="col"${classOf(look)}>${look?.head ?? label}</th>`,
  );
  const body = rows.map(
    (row) =>
      html`<tr>${shown.map(([label, cell, look]) => html`<td data-label="${label}"${classOf(look)}>${cell(row)}</td>`)}</tr>\n`,
  );
  return scrolling(
    name,
    html`<table class="${className}" aria-label="${name}"><thead><tr>${head}</tr></thead><tbody>${body}</tbody></table>`,
  );
}

/** An empty state: what is missing, and how to get it. */
export function empty(title: string, what: HtmlValue): Html {
  return html`<div class="empty"><h2>${title}</h2>${what}</div>`;
}

/**
 * Links to the pages of a list, which keep the filter.
 * @param older text of the link to the next page
 */
export function pager(path: string, query: string, next: string | null, older = 'Older'): Html {
  const isFirst = new URLSearchParams(query).get('cursor') === null;
  const link = (cursor: string | null): string => {
    const own = new URLSearchParams(query);
    own.delete('cursor');
    if (cursor !== null) own.set('cursor', cursor);
    return own.size === 0 ? path : `${path}?${own}`;
  };
  if (isFirst && next === null) return html``;
  return html`<nav class="pager" aria-label="Pages">
${!isFirst && html`<a class="button quiet" href="${link(null)}">Newest</a>`}
${next !== null && html`<a class="button quiet" href="${link(next)}" rel="next">${older}</a>`}
</nav>`;
}

export function option(value: string, label: string, chosen: string | null): Html {
  return value === (chosen ?? '')
    ? html`<option value="${value}" selected>${label}</option>`
    : html`<option value="${value}">${label}</option>`;
}

/** A select with "any" first; a value that it does not have is kept, so that it can be corrected. */
export function choice(
  name: string,
  label: string,
  values: readonly (string | readonly [value: string, label: string])[],
  chosen: string | null,
): Html {
  const options = values.map((value) =>
    typeof value === 'string'
      ? option(value, value.replaceAll(/[-_]/g, ' '), chosen)
      : option(value[0], value[1], chosen),
  );
  const isOther =
    !!chosen && !values.some((one) => (typeof one === 'string' ? one : one[0]) === chosen);
  return html`<label>${label}<select name="${name}">${option('', 'any', chosen)}${options}${isOther && option(chosen, chosen, chosen)}</select></label>`;
}

/** A field of a filter. @param options.hint an example, shown while the field is empty */
export function field(
  name: string,
  label: string,
  value: string | null,
  { type = 'text', hint }: { readonly type?: string; readonly hint?: string } = {},
): Html {
  return html`<label>${label}<input type="${type}" name="${name}" value="${value}"${hint !== undefined && html` placeholder="${hint}"`}></label>`;
}

export function facts(pairs: readonly (readonly [HtmlValue, HtmlValue])[]): Html {
  const shown = pairs.filter(([, value]) => value !== false && (value ?? '') !== '');
  return html`<dl class="facts">${shown.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;
}

/** Facts side by side, as many as fit on a line. */
export function strip(pairs: readonly (readonly [HtmlValue, HtmlValue])[]): Html {
  const shown = pairs.filter(([, value]) => value !== null && value !== undefined && value !== '');
  return html`<dl class="strip">${shown.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

type KeyRow = readonly [keys: readonly string[], does: string];

const kbd = (keys: readonly string[]): HtmlValue =>
  keys.map((key, index) => html`${index > 0 && ' '}<kbd>${key}</kbd>`);

/** The keys of a page: a button that the script shows, and the dialog that it opens, as `?` does. @param rows keys, and what each of them does */
export function keysHelp(rows: readonly KeyRow[]): Html {
  const all: readonly KeyRow[] = [...rows, [['?'], 'show these keys; Esc closes them']];
  return html`<button type="button" class="quiet small keys-button" data-keys-open hidden>Keyboard <kbd>?</kbd></button>
<dialog class="keys" data-keys-help aria-labelledby="keys-title"><h2 id="keys-title">Keyboard</h2>
<dl class="facts">${all.map(([keys, does]) => html`<dt>${kbd(keys)}</dt><dd>${does}</dd>`)}</dl>
<form method="dialog"><button class="quiet">Close</button></form></dialog>`;
}

/** Of a page that suggests none. */
export const NO_RUN_NAMES = Object.fromEntries(
  RUN_NAME_ROWS.map(({ known }) => [known, []]),
) as unknown as RunNames;

/** A field with suggestions; any text that a name contains finds it. */
export function nameField(
  name: string,
  label: string,
  given: URLSearchParams,
  known: readonly string[],
): Html {
  return html`<label>${label}<input name="${name}" value="${given.get(name)}" placeholder="contains" list="known-${name}" autocomplete="off"></label><datalist id="known-${name}">${known.map((one) => html`<option value="${one}"></option>`)}</datalist>`;
}

export const nameFields = (given: URLSearchParams, names: RunNames): Html[] =>
  RUN_NAME_ROWS.map(({ name, label, known }) => nameField(name, label, given, names[known]));

/** Times before now that are suggested. */
const AGO = ['1h', '24h', '7d', '30d', '90d'];

/** A time before now, a date, or a moment: a date field would hide other values. */
export function timeField(name: string, label: string, given: URLSearchParams): Html {
  return html`<label>${label}<input name="${name}" value="${given.get(name)}" placeholder="7d or 2026-11-20" list="known-${name}" autocomplete="off"></label><datalist id="known-${name}">${AGO.map((one) => html`<option value="${one}"></option>`)}</datalist>`;
}

/** Parameters of a list that are no filter. */
const NO_FILTERS = ['cursor', 'page', 'sort', 'group_by', 'done', 'list', 'limit'];

/** On a narrow screen they are folded, and the line that opens them says how many are in use. */
export function folded(given: URLSearchParams, outside: readonly string[], fields: Html): Html {
  const used = new Set(
    [...given].flatMap(([name, value]) =>
      value === '' || NO_FILTERS.includes(name) || outside.includes(name) ? [] : [name],
    ),
  ).size;
  return html`<details class="fold"><summary>Filters${used > 0 && ` (${used})`}</summary>${fields}</details>`;
}

export const KIND_OF_NAME: Readonly<Record<RunName, EntityKind>> = {
  agentName: 'agent',
  serviceName: 'service',
  userId: 'user',
  sessionId: 'session',
  model: 'model',
};

export const entityLink = (kind: EntityKind, name: string): Html =>
  html`<a href="${entityPath(kind, name)}">${name}</a>`;

/** A name that leads to a list, and a link to its own page. */
export const aboutLink = (key: RunName, name: string): Html =>
  html` <a class="soft about" href="${entityPath(KIND_OF_NAME[key], name)}" aria-label="About the ${RUN_NAMES[key].label.toLowerCase()} ${name}">about</a>`;
