/** The filter of findings as a condition: of `findings f` joined with `workspaces w`. */
import type { FindingFilter } from '../../model/findings.ts';
import { RUN_NAME_ROWS, type RunName } from '../../model/runs.ts';
import { isExcepted, shownPlace } from './exceptions.ts';
import { hasAssignee, hasState, usersOf } from './triage.ts';

const literally = (text: string): string => text.replaceAll(/[\\%_]/g, '\\$&');

function containing(text: string): string {
  return `%${literally(text)}%`;
}

/** A name in double quotes is the whole name. */
const QUOTED = /^"(.+)"$/s;

/** The whole name where it is in quotes. */
export const wholeName = (text: string): string | undefined => QUOTED.exec(text)?.[1];

export function namePattern(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const whole = wholeName(text);
  return whole === undefined ? containing(text) : literally(whole);
}

/** No text has every word of nothing. */
function wordsOf(text: string | undefined): string[] | undefined {
  const words = text?.split(/\s+/).filter(Boolean);
  return words?.length === 0 ? undefined : words;
}

/** A parameter of `MATCHES`: its type, and its value; undefined does not narrow the list. */
type Parameter = readonly [type: string, read: (filter: FindingFilter) => unknown];

/** The parameters after `$1`, the workspace, in their order. Each is null where the filter has none. */
const PARAMETERS = {
  severity: ['text', ({ severity }) => severity],
  category: ['text', ({ category }) => category],
  ruleId: ['text', ({ ruleId }) => ruleId],
  ruleIds: ['text[]', ({ ruleIds }) => ruleIds],
  runId: ['uuid', ({ runId }) => runId],
  since: ['timestamptz', ({ since }) => since],
  until: ['timestamptz', ({ until }) => until],
  words: ['text[]', ({ search }) => wordsOf(search)?.map(containing)],
  phrase: ['text', ({ search }) => search && containing(search)],
  ...(Object.fromEntries(
    RUN_NAME_ROWS.map(({ key }) => [
      key,
      ['text', (filter: FindingFilter) => namePattern(filter[key])],
    ]),
  ) as unknown as Record<RunName, Parameter>),
  surface: ['text', ({ surface }) => surface],
  sameAs: ['uuid', ({ sameAs }) => sameAs],
  states: ['text[]', ({ states }) => states],
  isExcepted: ['boolean', ({ isExcepted }) => isExcepted],
  assignee: ['text', ({ assignee }) => (assignee === null ? '' : assignee)],
} satisfies Readonly<Record<string, Parameter>>;

const ROWS: readonly Parameter[] = Object.values(PARAMETERS);
type Name = keyof typeof PARAMETERS;
const NAMES = Object.keys(PARAMETERS) as Name[];

export const GIVEN = Object.fromEntries(
  NAMES.map((name, index) => [name, `$${index + 2}::${PARAMETERS[name][0]}`]),
) as Readonly<Record<Name, string>>;

const where = (name: Name, condition: string): string => `(${GIVEN[name]} IS NULL OR ${condition})`;

export const IN_TIME = `${where('since', `f.created_at >= ${GIVEN.since}`)}
        AND ${where('until', `f.created_at < ${GIVEN.until}`)}`;
const HAS_SEVERITY = where('severity', `f.severity = ${GIVEN.severity}`);
const HAS_CATEGORY = where('category', `f.category = ${GIVEN.category}`);
export const OF_SEVERITY_AND_CATEGORY = `${HAS_SEVERITY} AND ${HAS_CATEGORY}`;
export const OF_RULE = where('ruleId', `f.rule_id = ${GIVEN.ruleId}`);
export const OF_KIND = `${OF_SEVERITY_AND_CATEGORY} AND ${OF_RULE}
        AND ${where('ruleIds', `f.rule_id = ANY (${GIVEN.ruleIds})`)}`;

/** Types the parameters that a statement does not use, which PostgreSQL needs; they are null there. */
export const unused = (...used: readonly Name[]): string =>
  NAMES.flatMap((name) => (used.includes(name) ? [] : [`${GIVEN[name]} IS NULL`])).join(' AND ');

const SEARCHED = where(
  'words',
  `f.description || ' ' || f.category || ' ' || coalesce(f.subcategory, '') ILIKE ALL (${GIVEN.words})
          OR (coalesce((${shownPlace('f')})->>'excerpt', f.excerpt) ILIKE ${GIVEN.phrase} AND NOT w.redact_excerpts)`,
);
const NOT_SEARCHED = `${GIVEN.words} IS NULL AND ${GIVEN.phrase} IS NULL`;

/** The key by which findings are repetitions: the text of the first match and, where it is another, of the one shown. */
export const repeatedText = (finding: string): string =>
  `(encode(${finding}.match_digest, 'hex') || coalesce((${shownPlace(finding)})->>'digest', ''))`;

/** Read once, not for every row. */
const ofSame = (column: string): string =>
  `(SELECT ${column} FROM findings same WHERE workspace_id = $1 AND id = ${GIVEN.sameAs})`;
const SAME = `f.id = ${GIVEN.sameAs} OR (
          f.rule_id = ${ofSame('rule_id')} AND f.match_digest = ${ofSame('match_digest')}
          AND ${repeatedText('f')} = ${ofSame(repeatedText('same'))}
          AND coalesce(f.agent_name, f.service_name)
              IS NOT DISTINCT FROM ${ofSame('coalesce(agent_name, service_name)')})`;

/** Findings of states other than new that a list reads, the latest decided: about 50 ms of work. */
export const DECIDED_READ_MAX = 2000;

/** Ids of findings with a triage that matches the filter; of one state in the order of its index. */
export const DECIDED_IDS = `ARRAY(
  SELECT finding_id FROM finding_states
   WHERE workspace_id = $1 AND ${where('states', `state = ANY (${GIVEN.states})`)}
     AND (${GIVEN.states} IS NULL OR cardinality(${GIVEN.states}) > 1 OR state = (${GIVEN.states})[1])
     AND (${GIVEN.assignee} IS NULL OR ${GIVEN.assignee} = '' OR assignee_id = ANY (${usersOf(GIVEN.assignee)}))
   ORDER BY updated_at DESC LIMIT ${DECIDED_READ_MAX})`;
/** Added to `MATCHES` for states without new and for assignees: few findings have one, and this finds them. */
export const IS_TRIAGED = `f.id = ANY (${DECIDED_IDS})`;

/** The whole filter, of `findings f` joined with `workspaces w`; `$1` and what follows are `matchValues`. */
const matching = (searched: string): string =>
  [
    'f.workspace_id = $1',
    OF_KIND,
    where('runId', `f.run_id = ${GIVEN.runId}`),
    IN_TIME,
    searched,
    ...RUN_NAME_ROWS.map(({ key, column }) => where(key, `f.${column} ILIKE ${GIVEN[key]}`)),
    where('surface', `coalesce((${shownPlace('f')})->>'surface', f.surface) = ${GIVEN.surface}`),
    where('sameAs', SAME),
    hasState(GIVEN.states),
    hasAssignee(GIVEN.assignee),
    where('isExcepted', `${GIVEN.isExcepted} = ${isExcepted('f')}`),
  ].join('\n        AND ');
export const MATCHES = matching(SEARCHED);
/** Without a search, which alone reads excerpts. */
export const MATCHES_UNSEARCHED = matching(NOT_SEARCHED);

export function parameter(n: number): string {
  return `$${1 + ROWS.length + n}`;
}

export function matchValues(workspaceId: number, filter: FindingFilter): unknown[] {
  return [workspaceId, ...ROWS.map(([, read]) => read(filter) ?? null)];
}

/** Checks whether names or texts of findings have to be read to know what the filter leaves out. */
export function readsNames(filter: FindingFilter): boolean {
  const { surface, search } = filter;
  const names = RUN_NAME_ROWS.map(({ key }) => filter[key]);
  return [...names, surface, search].some((one) => one !== undefined);
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
