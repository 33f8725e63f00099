/**
 * Triage: the form of a finding's page, and the same change of many findings as JSON. For members
 * with a session; no API credential may.
 */
import { z } from 'zod';
import { createException, endException } from '../../db/findings/exception-writes.ts';
import { exceptionOffer, listExceptions } from '../../db/findings/exceptions.ts';
import { type FindingList, listFindings } from '../../db/findings/finding-list.ts';
import { findFinding } from '../../db/findings/findings.ts';
import { triageFindings } from '../../db/findings/triage-writes.ts';
import { SluiceError } from '../../errors.ts';
import { EXCEPTION_DAYS_MAX, EXCEPTION_PARTS, REASON_CHARS_MAX } from '../../model/exceptions.ts';
import { VIEW_QUERY_CHARS_MAX } from '../../model/findings.ts';
import type { Hex16 } from '../../model/json.ts';
import type { Actor } from '../../model/people.ts';
import type { PageCursor } from '../../model/runs.ts';
import {
  FINDING_STATES,
  GROUP_FINDINGS_MAX,
  NOTE_CHARS_MAX,
  TRIAGE_FINDINGS_MAX,
  type TriageChange,
} from '../../model/triage.ts';
import {
  changedPath,
  changedRunPath,
  findingPath,
} from '../../web/app/findings/finding-filters.ts';
import { exceptionFormPage, exceptionsPage } from '../../web/app/triage/exceptions.ts';
import { exceptionsQuery } from '../api/exceptions/exception-routes.ts';
import { filterOf } from '../api/findings/finding-query.ts';
import { findingsQuery } from '../api/findings/finding-routes.ts';
import { json } from '../transport/answers.ts';
import {
  HEX_16,
  hexId,
  idOf,
  pageCursor,
  parsePageQuery,
  readForm,
  readJson,
} from '../transport/input.ts';
import type { Route } from '../transport/router.ts';
import { type AppDependencies, formRoutes, pageRoutes, WITH_QUERY } from './dashboard.ts';
import { findingQuery, stateQuery } from './finding-pages.ts';
import { requireId, sentence } from './sign-in/person-fields.ts';
import { ADMINS, type Needs, signedIn } from './sign-in/signed-in.ts';

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
  /** the button that assigns it to the signed-in user; overrides the other fields */
  assign: z.literal('me').optional(),
  /** of the list that the finding was opened from */
  list: z.string().max(VIEW_QUERY_CHARS_MAX).optional(),
  /** the finding whose page comes next */
  next: hexId.optional(),
});

/** Most characters of the ids of a page's lines. */
const LINES_CHARS_MAX = 8000;

/**
 * Of the list: the findings and groups that are checked, by the names of their boxes, the list's query, and the
 * ids of its lines in order. A group is named by its newest or most severe finding.
 */
const listForm = z.looseObject({
  state,
  assign: z.literal('me').optional(),
  note: z.literal('').or(note).default(''),
  /** the form is on the page of this run, not on the list */
  run: hexId.optional(),
  query: z.string().max(VIEW_QUERY_CHARS_MAX).default(''),
  lines: z.string().max(LINES_CHARS_MAX).default(''),
});
const CHECKED = /^(finding|group)-([0-9a-f]{32})$/;
/** Most pages of findings that are read to find the members of the groups. */
const GROUP_PAGES_MAX = 100;

/** The line to continue with: the first one below the checked lines, else the last one above them. */
function nextLine(lines: string, checked: readonly string[]): Hex16 | null {
  const ids = lines.split(' ').filter((id) => HEX_16.test(id));
  const last = ids.findLastIndex((id) => checked.includes(id));
  const below = ids[last + 1];
  return below ?? ids.findLast((id) => !checked.includes(id)) ?? null;
}

const changeFindings = (
  { db, alertSender: { canEmail } }: AppDependencies,
  workspaceId: number,
  change: TriageChange,
  actor: Actor,
): Promise<number> => db.write(triageFindings, workspaceId, change, actor, canEmail);

/**
 * Changes findings in parts, each in a separate transaction.
 *
 * @returns how many were changed; the others already had that state or assignee
 * @throws what a part throws, saying how many findings the parts before it have changed
 */
async function changeInParts(
  deps: AppDependencies,
  workspaceId: number,
  { ids: all, ...change }: TriageChange,
  actor: Actor,
): Promise<number> {
  let changed = 0;
  for (let at = 0; at < all.length; at += TRIAGE_FINDINGS_MAX) {
    const ids = all.slice(at, at + TRIAGE_FINDINGS_MAX);
    try {
      changed += await changeFindings(deps, workspaceId, { ...change, ids }, actor);
    } catch (error) {
      if (changed === 0 || !(error instanceof SluiceError)) throw error;
      const before = changed === 1 ? '1 finding was' : `${changed} findings were`;
      const message = `${error.message} ${before} changed before.`;
      throw new SluiceError(error.code, message, { cause: error });
    }
  }
  return changed;
}

const triageBody = z.strictObject({
  ids: z.array(hexId).min(1).max(TRIAGE_FINDINGS_MAX),
  state: state.optional(),
  /** null for nobody */
  assignee: userId.nullable().optional(),
  note: note.optional(),
});

const groupedQuery = stateQuery.extend({
  ...findingsQuery.pick({ group_by: true, sort: true }).shape,
  cursor: pageCursor.optional(),
});

/**
 * The findings of groups that the filter of the list has, the newest of each group first. What is past
 * the bounds stays in the list.
 */
async function membersOf(
  deps: AppDependencies,
  workspaceId: number,
  groups: readonly Hex16[],
  query: z.infer<typeof groupedQuery>,
  me: string,
): Promise<Hex16[]> {
  const { db } = deps;
  const filter = filterOf(query, deps, me);
  const ids: Hex16[] = [];
  let pages = 0;
  for (const id of groups) {
    const top = await db.find(findFinding, workspaceId, id);
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
      const page: FindingList = await db.read(listFindings, workspaceId, own, cursor, left);
      ids.push(...page.findings.map((one) => one.id));
      cursor = page.next;
    } while (cursor !== null);
  }
  return ids;
}

export function triageRoutes(deps: AppDependencies): Route[] {
  const form = formRoutes(deps);
  return [
    form('/app/findings/{findingId}/triage', {}, async ({ exchange, request, parameters }) => {
      const id = idOf(parameters.findingId);
      if (id === null) throw new SluiceError('not_found', 'This workspace has no such finding.');
      const sent = await readForm(exchange, triageForm);
      const change = {
        ids: [id],
        state: sent.state === sent.shown_state ? undefined : sent.state,
        assigneeId:
          sent.assign === 'me'
            ? request.session.userId
            : sent.assignee === sent.shown_assignee
              ? undefined
              : sent.assignee,
        note: sent.note === '' ? undefined : sent.note,
      };
      await changeFindings(deps, request.workspace.id, change, request.actor);
      const { list, next = id } = sent;
      return list === undefined ? `/app/findings/${id}` : findingPath(next, list);
    }),
    form('/app/findings/triage', {}, async ({ exchange, request }) => {
      const sent = await readForm(exchange, listForm);
      const { state: to, assign, note: text, run, query, lines, ...boxes } = sent;
      const { id: workspaceId } = request.workspace;
      const checked = Object.keys(boxes).flatMap((name) => {
        const [, kind, id = ''] = CHECKED.exec(name) ?? [];
        return kind === undefined ? [] : [{ kind, id }];
      });
      if (checked.length === 0) throw new SluiceError('bad_body', 'Select at least one line.');
      const named = (wanted: string) =>
        checked.flatMap(({ kind, id }) => (kind === wanted ? [id] : []));
      const filter = parsePageQuery(groupedQuery, query);
      const { email } = request.session;
      const members = await membersOf(deps, workspaceId, named('group'), filter, email);
      const ids = [...new Set([...named('finding'), ...members])];
      const { userId: assigneeId } = request.session;
      const target = assign === 'me' ? { assigneeId } : { state: to };
      const change = { ids, ...target, note: text === '' ? undefined : text };
      const changed = await changeInParts(deps, workspaceId, change, request.actor);
      const next = nextLine(
        lines,
        checked.map(({ id }) => id),
      );
      const done = { to: assign ?? to, changed, selected: ids.length };
      return run === undefined ? changedPath(query, done, next) : changedRunPath(run, done);
    }),
    {
      method: 'PUT',
      path: '/app/api/findings/triage',
      handler: signedIn(
        {},
        async (exchange, { workspace, actor }) => {
          const { assignee: assigneeId, ...sent } = await readJson(exchange, triageBody);
          const change = { ...sent, assigneeId };
          const changed = await changeFindings(deps, workspace.id, change, actor);
          return json({ changed });
        },
        deps,
      ),
    },
  ];
}

const PATH = '/app/exceptions';
const FROM_FINDING = '/app/findings/{findingId}/exception';
const ADMIN: Needs = { roles: ADMINS };

const part = z.literal('yes').optional();
const DAYS_ERROR = `must be a number of days from 1 to ${EXCEPTION_DAYS_MAX}`;

export const exceptionForm = z
  .object({
    list: z.string().max(VIEW_QUERY_CHARS_MAX).optional(),
    text: part,
    tool: part,
    agent: part,
    service: part,
    reason: sentence(REASON_CHARS_MAX),
    days: z
      .string(DAYS_ERROR)
      .regex(/^[1-9]\d{0,2}$/, DAYS_ERROR)
      .transform(Number)
      .pipe(z.number().max(EXCEPTION_DAYS_MAX, DAYS_ERROR)),
  })
  .refine((form) => EXCEPTION_PARTS.some((one) => form[one] !== undefined), {
    path: [EXCEPTION_PARTS.join(', ')],
    message: 'choose at least one',
  });

const noFinding = () => new SluiceError('not_found', 'This workspace has no such finding.');

/** The pages of exceptions, and the forms that create and end them: for admins. */
export function exceptionPages(deps: AppDependencies): Route[] {
  const { db, look } = deps;
  const { titleOf } = deps.rules;
  const page = pageRoutes(deps);
  const form = formRoutes(deps);
  return [
    page(PATH, WITH_QUERY, async ({ exchange, request, viewer, nowMs }) => {
      const { rule_id: ruleId } = parsePageQuery(exceptionsQuery, exchange.query);
      const all = await db.readFresh(listExceptions, request.workspace.id);
      const list = ruleId === undefined ? all : all.filter((one) => one.ruleId === ruleId);
      return exceptionsPage(look, viewer, { exceptions: list, ruleId, titleOf, nowMs });
    }),
    page(
      FROM_FINDING,
      { ...ADMIN, ...WITH_QUERY },
      async ({ exchange, request, viewer, parameters }) => {
        const { id: workspaceId } = request.workspace;
        const { list } = parsePageQuery(findingQuery, exchange.query);
        const findingId = idOf(parameters.findingId);
        const finding =
          findingId === null ? null : await db.find(findFinding, workspaceId, findingId);
        if (finding === null) throw noFinding();
        const offer = await db.readFresh(exceptionOffer, workspaceId, finding.id);
        const data = { finding, title: titleOf(finding.ruleId), list, offer };
        return exceptionFormPage(look, viewer, data);
      },
    ),
    form(FROM_FINDING, ADMIN, async ({ exchange, request, parameters }) => {
      const findingId = idOf(parameters.findingId);
      if (findingId === null) throw noFinding();
      const { list, reason, days, ...chosen } = await readForm(exchange, exceptionForm);
      const parts = EXCEPTION_PARTS.filter((one) => chosen[one] !== undefined);
      const made = { parts, reason, days };
      await db.write(createException, request.workspace.id, findingId, made, request.actor);
      return list === undefined ? `/app/findings/${findingId}` : findingPath(findingId, list);
    }),
    form(`${PATH}/{exceptionId}/end`, ADMIN, async ({ request, parameters }) => {
      const id = requireId(parameters.exceptionId);
      await db.write(endException, request.workspace.id, id, request.actor);
      return PATH;
    }),
  ];
}
