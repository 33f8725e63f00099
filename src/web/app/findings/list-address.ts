/**
 * Where the findings list and the pages of its findings lead to each other: a finding's page knows the list
 * that it was opened from, and after a change the list says what was changed.
 */
import { FINDING_STATES, type FindingState, GROUP_FINDINGS_MAX } from '../../../model/triage.ts';
import { count, words } from '../format.ts';
import { FINDINGS_PATH, viewPath } from './finding-filters.ts';

/** Parameters of a request, and not of the list that it shows. */
const PASSING = ['done', 'newest', 'workspace'];

export interface ListChange {
  /** the state that was set; `me` for an assignment to the signed-in user */
  readonly to: FindingState | 'me';
  readonly changed: number;
  /** findings that were selected, including the ones that needed no change */
  readonly selected: number;
}

/** The query of the list alone. */
export function listQuery(query: string): string {
  if (!PASSING.some((name) => query.includes(name))) return query;
  const own = new URLSearchParams(query);
  for (const name of PASSING) own.delete(name);
  return own.toString();
}

export function rowId(findingId: string): string {
  return `f-${findingId}`;
}

export function findingPath(id: string, query: string): string {
  // The list without a query begins with the default view of its reader, which may change.
  const list = listQuery(query) || 'state=open';
  return `${FINDINGS_PATH}/${id}?list=${encodeURIComponent(list)}`;
}

export function listPath(query: string, findingId: string | null): string {
  const list = viewPath(query);
  return findingId === null ? list : `${list}#${rowId(findingId)}`;
}

/** The list after a change. @param findingId of the row to continue with */
export function changedPath(query: string, change: ListChange, findingId: string | null): string {
  const own = new URLSearchParams(listQuery(query));
  own.set('done', `${change.to}.${change.changed}.${change.selected}`);
  return listPath(own.toString(), findingId);
}

/** The page of a run after a change of its findings. */
export function changedRunPath(runId: string, { to, changed, selected }: ListChange): string {
  return `/app/runs/${runId}?done=${to}.${changed}.${selected}#findings`;
}

const DONE = /^(\w{1,20})\.(\d{1,5})\.(\d{1,5})$/;
const TARGETS: readonly string[] = [...FINDING_STATES, 'me'];

/** Describes the last change of the list; null when the query names none. */
export function changeText(query: string): string | null {
  const [, to = '', ...numbers] = DONE.exec(new URLSearchParams(query).get('done') ?? '') ?? [];
  if (!TARGETS.includes(to)) return null;
  const [changed = 0, selected = 0] = numbers.map(Number);
  const target = to === 'me' ? 'assigned to you' : `set to ${words(to)}`;
  const rest = selected - changed;
  return [
    `${count(changed)} ${changed === 1 ? 'finding' : 'findings'} ${target}.`,
    ...(rest > 0 ? [`${count(rest)} needed no change.`] : []),
    ...(selected >= GROUP_FINDINGS_MAX
      ? ['There may be more: repeat the change for the rest.']
      : []),
  ].join(' ');
}
