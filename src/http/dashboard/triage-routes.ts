/**
 * Triage: the form of a finding's page, and the same change of many findings as JSON. For members
 * with a session; no API credential may.
 */
import { z } from 'zod';

import type { Store } from '../../db/store.ts';
import { SluiceError } from '../../errors.ts';
import { FINDING_STATES, NOTE_CHARS_MAX, TRIAGE_FINDINGS_MAX } from '../../model/triage.ts';
import { readForm, readJson } from '../transport/json-body.ts';
import { json } from '../transport/problem.ts';
import { hexId, idOf } from '../transport/query.ts';
import type { Route } from '../transport/router.ts';
import { type DashboardDependencies, formRoutes } from './dashboard.ts';
import { sentence } from './sentence.ts';
import { signedIn } from './sign-in/signed-in.ts';

export interface TriageDependencies extends DashboardDependencies {
  readonly triage: Store['triage'];
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

/** Of the list: the findings that are checked, by the names of their boxes, and the list's query. */
const listForm = z.looseObject({ state, query: z.string().max(QUERY_CHARS_MAX).default('') });
const CHECKED = /^finding-([0-9a-f]{32})$/;

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
      const ids = Object.keys(boxes).flatMap((name) => idOf(CHECKED.exec(name)?.[1]) ?? []);
      if (ids.length === 0) throw new SluiceError('bad_body', 'Select at least one finding.');
      await deps.triage.change(request.workspace.id, { ids, state: to }, request.actor);
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
