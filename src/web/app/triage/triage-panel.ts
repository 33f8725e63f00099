/** The triage of a finding: its state and assignee, the form that changes them, and their history. */
import type { ExceptionCoverage, FindingException } from '../../../model/exceptions.ts';
import type { Hex16 } from '../../../model/json.ts';
import type { Member } from '../../../model/people.ts';
import {
  FINDING_STATES,
  type FindingState,
  type HistoryEntry,
  NOTE_CHARS_MAX,
  type Triage,
} from '../../../model/triage.ts';
import { type Html, type HtmlValue, html } from '../../html.ts';
import { term, time, words } from '../format.ts';
import { option, type Viewer, writeForm, writeTo } from '../shell.ts';
import { coverageOf } from './exceptions.ts';

export interface TriagePanel {
  readonly triage: Triage;
  readonly members: readonly Pick<Member, 'userId' | 'email' | 'displayName'>[];
  readonly exceptions: readonly (ExceptionCoverage &
    Pick<FindingException, 'id' | 'reason' | 'expiresAt'>)[];
}

export function stateBadge(state: FindingState): Html {
  return html`<span class="state ${state}">${words(state)}</span>`;
}

export function exceptedBadge(): Html {
  return html`<span class="state excepted" title="An active exception hides it from the default list and from alerts">excepted</span>`;
}

/** The members, the viewer first, and a former member who still is the assignee. */
function assigneeOptions({ triage: { assignee }, members }: TriagePanel, viewer: Viewer): Html[] {
  const chosen = assignee === null ? '' : String(assignee.userId);
  const isSelf = ({ email }: { readonly email: string }) => email === viewer.email;
  const others = members.filter((member) => !isSelf(member));
  const all = [...members.filter(isSelf), ...others].map((member) => {
    const label = `${member.email}${isSelf(member) ? ' (you)' : ''}`;
    return option(String(member.userId), label, chosen);
  });
  if (assignee !== null && !assignee.isMember) {
    all.push(option(chosen, `${assignee.email} (former member)`, chosen));
  }
  return [option('', 'nobody', chosen), ...all];
}

/** The list that the finding was opened from. */
interface List {
  readonly query: string;
  readonly next: Hex16 | null;
}

function form(findingId: string, panel: TriagePanel, viewer: Viewer, list: List | null): Html {
  const { state, assignee } = panel.triage;
  const next = list?.next ?? null;
  const fields = html`${list !== null && html`<input type="hidden" name="list" value="${list.query}">`}<input type="hidden" name="shown_state" value="${state}">
<input type="hidden" name="shown_assignee" value="${assignee?.userId ?? ''}">
<label>State<select name="state" data-on-key="s">${FINDING_STATES.map((one) => option(one, words(one), state))}</select></label>
<label>Assignee<select name="assignee">${assigneeOptions(panel, viewer)}</select></label>
<label class="whole">Note (optional)<textarea name="note" rows="2" data-on-key="n" maxlength="${NOTE_CHARS_MAX}"></textarea></label>
<div class="buttons"><button>Save</button>
${next !== null && html`<button class="quiet" name="next" value="${next}" data-go>Save and open next</button>`}
${assignee?.email !== viewer.email && html`<button class="quiet" name="assign" value="me" data-on-key="a">Assign to me</button>`}</div>`;
  return writeForm(writeTo(`/app/findings/${findingId}/triage`, viewer), fields, 'filters triage');
}

function what({ kind, before, after }: HistoryEntry): HtmlValue {
  if (kind === 'note') return 'added a note';
  if (kind === 'state') {
    return html`changed the state from ${words(before ?? 'new')} to <b>${words(after ?? 'new')}</b>`;
  }
  if (after === null) return html`unassigned ${before}`;
  return html`assigned it to <b>${after}</b>${before !== null && ` instead of ${before}`}`;
}

function history(entries: readonly HistoryEntry[], nowMs: number): HtmlValue {
  if (entries.length === 0) return html`<p class="soft">No changes yet.</p>`;
  return html`<ol class="history" tabindex="0" aria-label="History">${entries.map(
    (entry) => html`<li><b>${entry.actor}</b> ${what(entry)}
<span class="soft">${time(entry.at, nowMs)}</span>
${entry.kind === 'note' && html`<p class="note">${entry.after}</p>`}</li>
`,
  )}</ol>`;
}

/** The exception that hides the finding; without one, for admins, the way to add one. */
function exception(
  findingId: string,
  { exceptions }: TriagePanel,
  viewer: Viewer,
  list: List | null,
): HtmlValue {
  const [own] = exceptions;
  if (own !== undefined) {
    return html`<p class="notice">Hidden from the list by an <a href="/app/exceptions">exception</a> for ${coverageOf(own)} until ${own.expiresAt.toISOString().slice(0, 10)}: ${own.reason}</p>`;
  }
  if (!viewer.isAdmin) return null;
  return html`<p><a class="button quiet" href="/app/findings/${findingId}/exception${list !== null && `?list=${encodeURIComponent(list.query)}`}" data-on-key="e">Add exception</a>
<span class="soft">Hide findings like this one for some time.</span></p>`;
}

export function triagePanel(
  findingId: string,
  panel: TriagePanel,
  viewer: Viewer,
  nowMs: number,
  list: List | null,
): Html {
  return html`<section class="panel"><h2>${term('triage', 'Triage')}</h2>
${form(findingId, panel, viewer, list)}
${exception(findingId, panel, viewer, list)}
<h3>History</h3>
${history(panel.triage.history, nowMs)}</section>`;
}
