/** The filter of findings as a condition: of `findings f` joined with `workspaces w`. */
import type { FindingFilter } from '../../model/findings.ts';
import { isExcepted, shownPlace } from './exceptions.ts';
import { hasAssignee, hasState, usersOf } from './triage.ts';

const literally = (text: string): string => text.replaceAll(/[\\%_]/g, '\\$&');

/** The text as a pattern of ILIKE that any text with it matches. */
export function containing(text: string): string {
  return `%${literally(text)}%`;
}

/** A name in double quotes is the whole name. */
const QUOTED = /^"(.+)"$/s;

const SEARCHED = `($8::text[] IS NULL
          OR f.description || ' ' || f.category || ' ' || coalesce(f.subcategory, '') ILIKE ALL ($8)
          OR (coalesce((${shownPlace('f')})->>'excerpt', f.excerpt) ILIKE $16 AND NOT w.redact_excerpts))`;
const NOT_SEARCHED = '$8::text[] IS NULL AND $16::text IS NULL';

/** The key by which findings are repetitions: the text of the first match and, where it is another, of the one shown. */
export const repeatedText = (finding: string): string =>
  `(encode(${finding}.match_digest, 'hex') || coalesce((${shownPlace(finding)})->>'digest', ''))`;

/** Read once, not for every row. */
const ofSame = (column: string): string =>
  `(SELECT ${column} FROM findings same WHERE workspace_id = $1 AND id = $15)`;

/** People's decisions: state, assignee, and whether an exception covers the finding. */
const DECIDED = `${hasState('$17::text[]')} AND ${hasAssignee('$20::text')}
        AND ($18::boolean IS NULL OR $18 = ${isExcepted('f')})`;

/** Findings of states other than new that a list reads, the latest decided: about 50 ms of work. */
export const DECIDED_READ_MAX = 2000;

/** Ids of findings with a triage that matches the filter; of one state in the order of its index. */
export const DECIDED_IDS = `ARRAY(
  SELECT finding_id FROM finding_states
   WHERE workspace_id = $1 AND ($17::text[] IS NULL OR state = ANY ($17))
     AND ($17 IS NULL OR cardinality($17) > 1 OR state = ($17)[1])
     AND ($20::text IS NULL OR $20 = '' OR assignee_id = ANY (${usersOf('$20')}))
   ORDER BY updated_at DESC LIMIT ${DECIDED_READ_MAX})`;
/** Beside `MATCHES`, for states without new and for assignees: few findings have one, and this finds them. */
export const IS_TRIAGED = `f.id = ANY (${DECIDED_IDS})`;

/** `$1` to `$20` are `matchValues`. Names contain the text of their filter, in any case. */
const matching = (searched: string): string => `
        f.workspace_id = $1
        AND ($2::text IS NULL OR f.severity = $2) AND ($3::text IS NULL OR f.category = $3)
        AND ($4::text IS NULL OR f.rule_id = $4)
        AND ($19::text[] IS NULL OR f.rule_id = ANY ($19)) AND ($5::uuid IS NULL OR f.run_id = $5)
        AND ($6::timestamptz IS NULL OR f.created_at >= $6)
        AND ($7::timestamptz IS NULL OR f.created_at < $7)
        AND ${searched}
        AND ($9::text IS NULL OR f.agent_name ILIKE $9)
        AND ($10::text IS NULL OR f.service_name ILIKE $10)
        AND ($11::text IS NULL OR f.user_id ILIKE $11)
        AND ($12::text IS NULL OR f.session_id ILIKE $12)
        AND ($13::text IS NULL OR f.model ILIKE $13)
        AND ($14::text IS NULL OR coalesce((${shownPlace('f')})->>'surface', f.surface) = $14)
        AND ($15::uuid IS NULL OR f.id = $15 OR (
          f.rule_id = ${ofSame('rule_id')} AND f.match_digest = ${ofSame('match_digest')}
          AND ${repeatedText('f')} = ${ofSame(repeatedText('same'))}
          AND coalesce(f.agent_name, f.service_name)
              IS NOT DISTINCT FROM ${ofSame('coalesce(agent_name, service_name)')}))
        AND ${DECIDED}`;
export const MATCHES = matching(SEARCHED);
/** Without a search, which alone reads excerpts. */
export const MATCHES_UNSEARCHED = matching(NOT_SEARCHED);
const MATCH_VALUES = 20;

/** The place of the n-th parameter after those of `MATCHES`. */
export function parameter(n: number): string {
  return `$${MATCH_VALUES + n}`;
}

function namePattern(text: string | undefined): string | null {
  if (text === undefined) return null;
  const [, whole] = QUOTED.exec(text) ?? [];
  return whole === undefined ? containing(text) : literally(whole);
}

/** No text has every word of nothing. */
function wordsOf(text: string | undefined): string[] | undefined {
  const words = text?.split(/\s+/).filter(Boolean);
  return words?.length === 0 ? undefined : words;
}

/** The values of `$1` to `$20`. */
export function matchValues(workspaceId: number, filter: FindingFilter): unknown[] {
  return [
    workspaceId,
    filter.severity ?? null,
    filter.category ?? null,
    filter.ruleId ?? null,
    filter.runId ?? null,
    filter.since ?? null,
    filter.until ?? null,
    wordsOf(filter.search)?.map(containing) ?? null,
    namePattern(filter.agent),
    namePattern(filter.service),
    namePattern(filter.user),
    namePattern(filter.session),
    namePattern(filter.model),
    filter.surface ?? null,
    filter.sameAs ?? null,
    filter.search === undefined ? null : containing(filter.search),
    filter.states ?? null,
    filter.isExcepted ?? null,
    filter.ruleIds ?? null,
    filter.assignee === null ? '' : (filter.assignee ?? null),
  ];
}

/** Checks whether names or texts of findings have to be read to know what the filter leaves out. */
export function readsNames(filter: FindingFilter): boolean {
  const { agent, service, user, session, model, surface, search } = filter;
  return [agent, service, user, session, model, surface, search].some((one) => one !== undefined);
}

/**
 * Checks whether every finding that the filter leaves out has to be read to know it: no index has its names, nor
 * what nobody has decided yet.
 */
export function needsReading(filter: FindingFilter): boolean {
  const { states, isExcepted, assignee, runId, sameAs } = filter;
  if (readsNames(filter)) return true;
  if (isTriaged(filter) || runId !== undefined || sameAs !== undefined) return false;
  return states !== undefined || isExcepted !== undefined || assignee === null;
}

/** Checks whether only findings match that have a state other than `new`, or an assignee. */
export function isTriaged({ states, assignee }: FindingFilter): boolean {
  return typeof assignee === 'string' || (states !== undefined && !states.includes('new'));
}

/** Checks whether an index of kinds finds what matches; other ways find what is decided, and a run's or a text's. */
export function isOfKinds(filter: FindingFilter): boolean {
  const { severity, category, ruleId, ruleIds, runId, sameAs } = filter;
  const isNarrow = [severity, category, ruleId, ruleIds].some((one) => one !== undefined);
  const isOther = isTriaged(filter) || runId !== undefined || sameAs !== undefined;
  return isNarrow && !isOther && !needsReading(filter);
}
