/**
 * Triage: the form of a finding's page, and the same change of many findings as JSON. For members
 * with a session; no API credential may.
 */
import { z } from 'zod';

import type { FindingList } from '../../db/findings/finding-list.ts';
import type { Store } from '../../db/store.ts';
import { SluiceError } from '../../errors.ts';
import type { Hex16 } from '../../model/json.ts';
import type { PageCursor } from '../../model/runs.ts';
import {
  FINDING_STATES,
  GROUP_FINDINGS_MAX,
  NOTE_CHARS_MAX,
  TRIAGE_FINDINGS_MAX,
} from '../../model/triage.ts';
import { filterOf, findingsQuery } from '../api/findings/finding-routes.ts';
import { readForm, readJson } from '../transport/json-body.ts';
import { json } from '../transport/problem.ts';
import { hexId, idOf, parseQuery } from '../transport/query.ts';
import type { Route } from '../transport/router.ts';
import { type DashboardDependencies, formRoutes } from './dashboard.ts';
import { type FindingPageReader, stateQuery } from './finding-pages.ts';
import { sentence } from './sentence.ts';
import { signedIn } from './sign-in/signed-in.ts';

export interface TriageDependencies extends DashboardDependencies {
  readonly triage: Store['triage'];
  readonly findings: FindingPageReader;
}

/** Most characters of a list's query. */
const QUERY_CHARS_MAX = 2000;
const INTEGER_MAX = 2_147_483_647;

const state = z.enum(FINDING_STATES);
const userId = z.int().min(1).max(INTEGER_MAX);
const note = sentence(NOTE_CHARS_MAX);

/** A select's value: a user's id, or empty for nobody. */
const assigneeField = z
  .string()
  .regex(/^([1-9]\d{0,9})?$/, 'must be the id of a member')
  .transform((text) => (text === '' ? null : Number(text)))
  .pipe(userId.nullable());

/** With what the page showed: what the person has not changed is left as it is by now. */
const triageForm = z.object({
  state,
  shown_state: state,
  assignee: assigneeField,
  shown_assignee: assigneeField,
  note: z.literal('').or(note).default(''),
});

/**
 * Of the list: the findings and groups that are checked, by the names of their boxes, and the list's
 * query. A group is named by its newest or most severe finding.
 */
const listForm = z.looseObject({ state, query: z.string().max(QUERY_CHARS_MAX).default('') });
const CHECKED = /^(finding|group)-([0-9a-f]{32})$/;
/** Most pages of findings that are read to know those of the groups. */
const GROUP_PAGES_MAX = 100;

/** The list again, as it was. */
function listPath(query: string): string {
  const parameters = new URLSearchParams(query);
  return parameters.size === 0 ? '/app/findings' : `/app/findings?${parameters}`;
}

const triageBody = z.strictObject({
  ids: z.array(hexId).min(1).max(TRIAGE_FINDINGS_MAX),
  state: state.optional(),
  /** null for nobody */
  assignee: userId.nullable().optional(),
  note: note.optional(),
});

const groupedQuery = stateQuery.extend(findingsQuery.pick({ group_by: true }).shape);

/**
 * The findings of groups that the filter of the list has, the newest of each group first. What is past
 * the bounds stays in the list.
 */
async function membersOf(
  { findings }: TriageDependencies,
  workspaceId: number,
  groups: readonly Hex16[],
  query: z.infer<typeof groupedQuery>,
  me: string,
): Promise<Hex16[]> {
  const filter = filterOf(query, { ...findings, me });
  const ids: Hex16[] = [];
  let pages = 0;
  for (const id of groups) {
    const top = await findings.find(workspaceId, id);
    if (top === null) throw new SluiceError('not_found', 'This workspace has no such finding.');
    const own = {
      ...filter,
      ...(query.group_by === 'run' ? { runId: top.runId } : { sameAs: id }),
    };
    let cursor: PageCursor | null = null;
    do {
      const left = Math.min(TRIAGE_FINDINGS_MAX, GROUP_FINDINGS_MAX - ids.length);
      if (left === 0 || pages === GROUP_PAGES_MAX) return ids;
      pages += 1;
      const page: FindingList = await findings.list(workspaceId, own, cursor, left);
      ids.push(...page.findings.map((one) => one.id));
      cursor = page.next;
    } while (cursor !== null);
  }
  return ids;
}

export function triageRoutes(deps: TriageDependencies): Route[] {
  const form = formRoutes(deps);
  return [
    form('/app/findings/{findingId}/triage', {}, async ({ exchange, request, parameters }) => {
      const id = idOf(parameters.findingId);
      if (id === null) throw new SluiceError('not_found', 'This workspace has no such finding.');
      const sent = await readForm(exchange, triageForm);
      const change = {
        ids: [id],
        state: sent.state === sent.shown_state ? undefined : sent.state,
        assigneeId: sent.assignee === sent.shown_assignee ? undefined : sent.assignee,
        note: sent.note === '' ? undefined : sent.note,
      };
      await deps.triage.change(request.workspace.id, change, request.actor);
      return `/app/findings/${id}`;
    }),
    form('/app/findings/triage', {}, async ({ exchange, request }) => {
      const { state: to, query, ...boxes } = await readForm(exchange, listForm);
      const { id: workspaceId } = request.workspace;
      const checked = Object.keys(boxes).flatMap((name) => {
        const [, kind, id = ''] = CHECKED.exec(name) ?? [];
        return kind === undefined ? [] : [{ kind, id }];
      });
      if (checked.length === 0) throw new SluiceError('bad_body', 'Select at least one line.');
      const named = (wanted: string) =>
        checked.flatMap(({ kind, id }) => (kind === wanted ? [id] : []));
      const filter = parseQuery(groupedQuery, query);
      const { email } = request.session;
      const members = await membersOf(deps, workspaceId, named('group'), filter, email);
      const all = [...named('finding'), ...members];
      for (let at = 0; at < all.length; at += TRIAGE_FINDINGS_MAX) {
        const ids = all.slice(at, at + TRIAGE_FINDINGS_MAX);
        await deps.triage.change(workspaceId, { ids, state: to }, request.actor);
      }
      return listPath(query);
    }),
    {
      method: 'PUT',
      path: '/app/api/findings/triage',
      handler: signedIn(
        {},
        async (exchange, { workspace, actor }) => {
          const { assignee: assigneeId, ...sent } = await readJson(exchange, triageBody);
          const changed = await deps.triage.change(workspace.id, { ...sent, assigneeId }, actor);
          return json({ changed });
        },
        deps,
      ),
    },
  ];
}
