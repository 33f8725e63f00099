/** The audit ledger: who changed what, from where. */
import type { JsonValue } from '../../model/json.ts';
import type { AuditEntry, AuditFilter } from '../../model/people.ts';
import { type Html, type HtmlValue, html } from '../html.ts';
import { type Moment, term, time } from './format.ts';
import { appPage, empty, field, type Look, pager, scrolling, type Viewer } from './shell.ts';

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

function row(entry: ShownEntry, nowMs: number): Html {
  return html`<tr><td data-label="No." class="number">${entry.seq}</td><td data-label="Time">${time(entry.at, nowMs)}</td>
<td data-label="Actor">${entry.actor}</td><td data-label="Address">${entry.origin}</td>
<td data-label="Action">${entry.action} <span class="soft below">${entry.subject}</span></td>
<td data-label="Change"><div>${change(entry)}</div></td>
<td data-label="Hash"><code title="${entry.hash}">${entry.hash.slice(0, 10)}</code></td></tr>
`;
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
  const table = html`<table class="stack" aria-label="Audit log"><thead><tr><th scope="col" class="number">No.</th><th scope="col">Time</th>
<th scope="col">Actor</th><th scope="col">Address</th><th scope="col">Action</th><th scope="col">Change</th><th scope="col">Hash</th></tr></thead>
<tbody>${entries.map((entry) => row(entry, nowMs))}</tbody></table>`;
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
      : html`${scrolling('Audit log', table)}${pager('/app/audit', query, next)}`
}`,
  });
}
