/** The audit ledger: who changed what, from where. */
import type { JsonValue } from '../../model/json.ts';
import type { AuditEntry, AuditFilter } from '../../model/people.ts';
import { type Html, type HtmlValue, html } from '../html.ts';
import { type Moment, term, time } from './format.ts';
import {
  appPage,
  empty,
  field,
  type Look,
  listTable,
  NUMBER,
  pager,
  type Viewer,
} from './shell.ts';

export interface ShownEntry
  extends Pick<AuditEntry, 'seq' | 'actor' | 'origin' | 'action' | 'subject' | 'before' | 'after'> {
  readonly at: Moment;
  readonly hash: string;
}

interface AuditPage {
  readonly entries: readonly ShownEntry[];
  readonly query: string;
  readonly filter: AuditFilter;
  readonly next: string | null;
  readonly nowMs: number;
}

/** The differences only: the rest of both sides is the same. */
function change({ action, before, after }: ShownEntry): HtmlValue {
  if (action === 'finding.note') return `added a note (${after?.characters} characters)`;
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
  const write = (value: JsonValue | undefined) =>
    value === undefined ? 'not set' : JSON.stringify(value);
  return names
    .map((name) => ({ name, from: write(before?.[name]), to: write(after?.[name]) }))
    .filter(({ from, to }) => from !== to)
    .map(({ name, from, to }) => html`<div><code>${name}</code>: ${from} → ${to}</div>`);
}

function filters({ actor, action }: AuditFilter): Html {
  return html`<form class="filters" method="get" action="/app/audit" role="search" aria-label="Filter">
${field('actor', 'Actor', actor, { hint: 'ana@example.com' })}${field('action', 'Action begins with', action, { hint: 'finding.' })}
<div class="buttons"><button>Filter</button> <a class="button quiet" href="/app/audit">Clear</a></div></form>`;
}

function fileLink(query: string): Html {
  const own = new URLSearchParams(query);
  own.delete('cursor');
  return html`<a href="/app/audit.csv${own.size > 0 && `?${own}`}" download>Download CSV</a>`;
}

export function auditPage(look: Look, viewer: Viewer, data: AuditPage): Html {
  const { entries, query, filter, next, nowMs } = data;
  const isNarrow = filter.actor !== null || filter.action !== null;
  const table = listTable('Audit log', entries, [
    ['No.', ({ seq }) => seq, NUMBER],
    ['Time', ({ at }) => time(at, nowMs)],
    ['Actor', ({ actor }) => actor],
    ['Address', ({ origin }) => origin],
    ['Action', (one) => html`${one.action} <span class="soft below">${one.subject}</span>`],
    ['Change', (entry) => html`<div>${change(entry)}</div>`],
    ['Hash', ({ hash }) => html`<code title="${hash}">${hash.slice(0, 10)}</code>`],
  ]);
  return appPage(look, viewer, {
    title: 'Audit',
    current: '/app/audit',
    main: html`<h1>Audit log</h1>
<p class="lead">${term('audit-log', 'Who changed what')}, when, and from which address. Entries are never changed or deleted; each contains the hash of the previous entry.
<code>sluice audit verify</code> checks the chain. ${fileLink(query)}</p>
${filters(filter)}
${
  entries.length === 0 && isNarrow
    ? html`${empty('No matching entries', html`<p><a href="/app/audit">Show all entries</a></p>`)}${pager('/app/audit', query, next, 'Search further')}`
    : entries.length === 0
      ? empty(
          'No changes yet',
          html`<p>Changes to ${term('rule-and-corpus', 'rules')}, ${term('key', 'keys')}, members and settings are recorded here.</p>`,
        )
      : html`${table}${pager('/app/audit', query, next)}`
}`,
  });
}
