/**
 * Stores the findings of evaluated runs, queues their alerts and marks the runs as evaluated, several
 * runs in one statement and so in one transaction. Locks runs in key order, as ingest does.
 */
import { createHash } from 'node:crypto';
import type { FindingDraft, FurtherPlace } from '../../model/findings.ts';
import type { Int64 } from '../../model/json.ts';
import type { Severity, Snapshot } from '../../model/rules.ts';
import type { RunFacts } from '../../model/runs.ts';
import type { Surface } from '../../model/steps.ts';
import { NO_USAGE, USAGE_COLUMNS, type Usage } from '../../model/usage.ts';
import { QUEUE_ALERTS } from '../alerts/outbox.ts';
import { type Columns, tableOf, valuesOf } from '../columns.ts';
import type { Queryable } from '../database.ts';
import { isFirstExcepted } from '../findings/exceptions.ts';
import { mergedPlaces, withoutText } from '../findings/finding-places.ts';
import { NAME_CHARS_MAX } from '../findings/findings.ts';
import type { ToolList } from '../tools/store-tools.ts';
import { WAITS } from './due-runs.ts';
import type { ClaimedRun } from './evaluation-queue.ts';
import { EVALUATED_PART, HAS_MORE } from './late-steps.ts';
import { toBits } from './surface-bits.ts';

export interface EvaluatedRun {
  readonly run: ClaimedRun;
  readonly facts: RunFacts;
  readonly findings: readonly FindingDraft[];
  /**
   * whether the workspace redacted when the run was claimed: then no matched text is sent to
   * PostgreSQL. The statement that stores checks the setting again.
   */
  readonly redactExcerpts: boolean;
  readonly ruleSetSha256: string;
  /** without repeats */
  readonly steps: number;
  /** spans among those read that were sent again with the same content */
  readonly repeatedSpans: number;
  readonly unreadSteps: number;
  /** surface texts that its steps held, and how many of them were cut */
  readonly texts: number;
  readonly surfaces: readonly Surface[];
  readonly truncatedTexts: number;
  /** the cap that cut them */
  readonly textCapBytes: number;
  /** values that were matched as written, not parsed */
  readonly unparsedValues: number;
  readonly usage: Usage;
  /** the beginning of the first text that a user sent */
  readonly title: string | null;
  readonly tools: readonly string[];
  /** the definitions of tools that its steps send; stored by `storeTools` in the same transaction */
  readonly toolList?: ToolList | null;
}

type EvaluatingCorpus = Pick<Snapshot, 'version' | 'identity'>;

interface PlacedFinding {
  readonly place: number;
  readonly finding: FindingDraft;
  readonly excerpt: string | null;
  readonly stepName: string | null;
  readonly toolName: string | null;
  /** as `findings.more_places` has them, but for the key of their digests */
  readonly further: readonly object[];
}

/** JSON of PostgreSQL has no lone surrogates; a column's text has U+FFFD for them, too. */
const json = (value: unknown): string =>
  JSON.stringify(value, (_key, part) => (typeof part === 'string' ? part.toWellFormed() : part));

/** An evaluated run, and the id of its rule set. */
type RunRow = EvaluatedRun & { readonly ruleSet: Int64 };

const RUN_COLUMNS: Columns<RunRow> = {
  workspace_id: ['int', ({ run }) => run.workspaceId],
  run_id: ['uuid', ({ run }) => run.runId],
  claim: ['bigint', ({ run }) => run.claim],
  attempt: ['int', ({ run }) => run.attempt],
  steps: ['int', ({ steps }) => steps],
  repeated: ['int', ({ repeatedSpans }) => repeatedSpans],
  unread: ['int', ({ unreadSteps }) => unreadSteps],
  texts: ['int', ({ texts }) => texts],
  truncated: ['int', ({ truncatedTexts }) => truncatedTexts],
  unparsed: ['int', ({ unparsedValues }) => unparsedValues],
  unread_texts: ['int', ({ facts }) => facts.unreadTexts],
  unread_keys: ['json', ({ facts }) => json(facts.unreadKeys)],
  unknown_roles: ['json', ({ facts }) => json(facts.unknownRoles)],
  gaps: ['json', ({ facts }) => json(facts.textGaps)],
  surfaces: ['smallint', ({ surfaces }) => toBits(surfaces)],
  hint: ['text', ({ facts }) => facts.captureHint],
  rule_set: ['bigint', ({ ruleSet }) => ruleSet],
  digest: ['text', ({ ruleSetSha256 }) => ruleSetSha256],
  cap: ['int', ({ textCapBytes }) => textCapBytes],
  state: ['text', ({ facts }) => facts.state],
  agent: ['text', ({ facts }) => facts.agentName],
  model: ['text', ({ facts }) => facts.model],
  session: ['text', ({ facts }) => facts.sessionId],
  '"user"': ['text', ({ facts }) => facts.userId],
  title: ['text', ({ title, redactExcerpts }) => (redactExcerpts ? null : title)],
  tools: ['json', ({ tools, redactExcerpts }) => json(redactExcerpts ? [] : tools)],
  tool_list: ['bigint', ({ toolList }) => toolList?.id ?? null],
  ...Object.fromEntries(
    USAGE_COLUMNS.map(([field, column]) => [column, ['float8', ({ usage }) => usage[field]]]),
  ),
};
/** Those that the run's names of before may replace. */
const NAME_COLUMNS = ['agent', 'model', 'session', '"user"'];
const RUN_COLUMN_NAMES = Object.keys(RUN_COLUMNS)
  .filter((name) => !NAME_COLUMNS.includes(name))
  .map((name) => `t.${name}`)
  .join(', ');

const FINDING_COLUMNS: Columns<PlacedFinding> = {
  of_run: ['bigint', ({ place }) => place],
  rule: ['text', ({ finding }) => finding.ruleId],
  version: ['text', ({ finding }) => finding.ruleVersion],
  status: ['text', ({ finding }) => finding.ruleStatus],
  severity: ['text', ({ finding }) => finding.severity],
  category: ['text', ({ finding }) => finding.category],
  subcategory: ['text', ({ finding }) => finding.subcategory],
  description: ['text', ({ finding }) => finding.description],
  condition: ['smallint', ({ finding }) => finding.conditionIndex],
  condition_text: ['text', ({ finding }) => finding.conditionDescription],
  field: ['text', ({ finding }) => finding.field],
  surface: ['text', ({ finding }) => finding.surface],
  span: ['text', ({ finding }) => finding.stepSpanId],
  step: ['text', ({ stepName }) => stepName],
  step_matched: ['boolean', ({ finding }) => finding.stepNameMatched],
  excerpt: ['text', ({ excerpt }) => excerpt],
  location: ['json', ({ finding }) => JSON.stringify(finding.place)],
  actions: ['json', ({ finding }) => JSON.stringify(finding.recommendedActions)],
  tool: ['text', ({ toolName }) => toolName],
  match: ['text', ({ finding }) => finding.matchSha256],
  further: ['jsonb', ({ further }) => json(further)],
};

// Parameters: the corpus's version and identity, the workspaces to lock, then the columns.
const FIRST_RUN_COLUMN = 4;
const FIRST_FINDING_COLUMN = FIRST_RUN_COLUMN + Object.keys(RUN_COLUMNS).length;

/** The sum of what was noted and what a later evaluation adds; null only if both are. */
const plus = (column: string, own = column): string =>
  `CASE WHEN own.late AND r.${column} IS NOT NULL THEN r.${column} + coalesce(own.${own}, 0)
        ELSE own.${own} END`;
/** A sum that is null where it is 0. */
const plusOrNull = (column: string, own = column): string => `nullif(${plus(column, own)}, 0)`;
/**
 * The words of an evaluation, or null; of a late part the different ones of both, in order, at most so many.
 */
const words = (column: string, own = column): string =>
  `nullif(CASE WHEN own.late AND r.${column} IS NOT NULL
        THEN ARRAY(SELECT word FROM (
          SELECT unnest(r.${column}) AS word
           UNION SELECT json_array_elements_text(own.${own})) AS of_both
           ORDER BY word LIMIT ${WORDS_MAX})
        ELSE ARRAY(SELECT json_array_elements_text(own.${own})) END, '{}')`;
const WORDS_MAX = 20;

/**
 * Marks the runs as evaluated. A late part adds to what is there (late-steps.ts): counts and words of
 * both, and what was not known before.
 */
const MARK = `
    UPDATE runs AS r
       SET evaluation = 'evaluated',
           attempts = CASE WHEN ${HAS_MORE} THEN 0 ELSE own.attempt END, last_error = NULL,
           ${EVALUATED_PART},
           evaluated_at = CASE WHEN own.late THEN r.evaluated_at ELSE now() END,
           late_evaluated_at = CASE WHEN own.late THEN now() END,
           late_evaluated_steps = CASE WHEN own.late
             THEN nullif(coalesce(r.late_evaluated_steps, 0) + own.steps, 0) END,
           spans = r.spans - own.repeated + CASE WHEN own.late THEN 0 ELSE r.repeated_spans END,
           repeated_spans = ${plus('repeated_spans', 'repeated')},
           evaluated_steps = ${plus('evaluated_steps', 'steps')},
           unread_steps = ${plusOrNull('unread_steps', 'unread')}, texts = ${plus('texts')},
           truncated_texts = ${plusOrNull('truncated_texts', 'truncated')},
           rule_set_id = own.rule_set, state = own.state, agent_name = own.agent,
           model = own.model, session_id = own.session, user_id = own."user",
           text_gaps = ${words('text_gaps', 'gaps')},
           surfaces = CASE WHEN own.late THEN coalesce(r.surfaces, 0) ELSE 0 END | own.surfaces,
           unparsed_values = ${plusOrNull('unparsed_values', 'unparsed')},
           capture_hint = CASE WHEN own.late AND r.capture_hint IS NULL THEN NULL ELSE own.hint END,
           unread_texts = ${plusOrNull('unread_texts')},
           unread_keys = ${words('unread_keys')},
           unknown_roles = ${words('unknown_roles')},
           ${USAGE_COLUMNS.map(([, column]) => `${column} = ${plus(column)}`).join(', ')},
           tools = CASE WHEN (SELECT NOT redact_excerpts FROM workspaces WHERE id = own.workspace_id)
                        THEN ${words('tools')} END,
           tool_list_id = coalesce(r.tool_list_id, own.tool_list),
           title = CASE WHEN own.late AND r.title IS NOT NULL THEN r.title ELSE
                     (SELECT own.title FROM workspaces
                       WHERE id = own.workspace_id AND NOT redact_excerpts) END
      FROM own WHERE r.workspace_id = own.workspace_id AND r.run_id = own.run_id
    RETURNING own.*`;
/** A name of the run: late steps do not change it. */
const known = (column: string, own = column): string =>
  `CASE WHEN r.late_waits THEN coalesce(r.${column}, t.${own}) ELSE t.${own} END AS ${own}`;

const STORE_RULE_SETS = `, rule_set AS (
    INSERT INTO rule_sets (id, text_cap_bytes, corpus_version, corpus_identity, rule_set_sha256)
    SELECT DISTINCT own.rule_set, own.cap, $1, decode($2, 'hex'), decode(own.digest, 'hex') FROM own
     WHERE NOT EXISTS (SELECT FROM rule_sets WHERE id = own.rule_set)
        ON CONFLICT DO NOTHING
  )`;
const END_LEASES = `, ended AS (
    DELETE FROM leases USING own
     WHERE leases.workspace_id = own.workspace_id AND leases.run_id = own.run_id
  )`;

/** Leaves the runs pending. */
const DO_NOT_MARK = 'SELECT * FROM own';

const KEEPS = '(SELECT NOT redact_excerpts FROM workspace WHERE id = done.workspace_id)';

/** The digest of a match, keyed; a workspace's keys are read nowhere else. */
const keyed = (match: string): string => `(
             SELECT sha256(match_key_outer || sha256(match_key_inner || decode(${match}, 'hex')))
               FROM workspaces WHERE id = done.workspace_id)`;
const FURTHER = `(
             SELECT jsonb_agg(CASE WHEN place->>'excerpt' IS NULL THEN place WHEN ${KEEPS} THEN place
                                   ELSE ${withoutText('place')} END - 'match'
                      || jsonb_build_object('digest', encode(${keyed("place->>'match'")}, 'hex'))
                      ORDER BY number)
               FROM jsonb_array_elements(further) WITH ORDINALITY AS more (place, number))`;
const MERGED = mergedPlaces('findings', 'excluded');

/**
 * A rule has one finding per run. One that is there already, of an attempt before, gets the places that it
 * lacks; it is alerted again only if exceptions cover its first match, and so may have hidden it.
 *
 * LATERAL makes the planner find each run by its key, in the order of keys. Where few runs were pending
 * when it last looked, it has compared every pending run with all of the evaluated ones.
 *
 * @param mark statement that updates the runs, which are locked, and returns them
 * @param others further statements on the runs, each with a comma before it
 */
const storing = (mark: string, others = ''): string => `
  WITH own AS (
    SELECT ${RUN_COLUMN_NAMES}, t.place,
           ${known('agent_name', 'agent')}, ${known('model')},
           ${known('session_id', 'session')}, ${known('user_id', '"user"')},
           r.claimed_to, r.claimed_without, r.claimed_rows,
           left(r.service_name, ${NAME_CHARS_MAX}) AS service, r.late_waits AS late FROM (
      SELECT * FROM ${tableOf(RUN_COLUMNS, FIRST_RUN_COLUMN)}
       ORDER BY workspace_id, run_id
    ) AS t CROSS JOIN LATERAL (
      SELECT service_name, agent_name, model, session_id, user_id, late_waits, claimed_to,
             claimed_without, claimed_rows
        FROM runs JOIN leases USING (workspace_id, run_id)
       WHERE workspace_id = t.workspace_id AND run_id = t.run_id AND claim = t.claim
         AND ${WAITS}
         FOR UPDATE
    ) AS r
  ), done AS (
    ${mark}
  )${others}, workspace AS (
    SELECT id, redact_excerpts FROM workspaces WHERE id = ANY ($3::int[]) ORDER BY id FOR SHARE
  ), stored AS (
    INSERT INTO findings (workspace_id, run_id, corpus_version, rule_id, rule_version,
      rule_status, severity, category, subcategory, description, condition_index,
      condition_description, field, surface, step_span_id, step_name,
      step_name_matched, excerpt, place, recommended_actions, corpus_identity,
      tool_name, match_digest, more_places, agent_name, service_name, user_id, session_id, model)
    SELECT done.workspace_id, done.run_id, $1, rule, version, status, severity, category,
           subcategory, description, condition, condition_text, field, surface,
           decode(span, 'hex'),
           CASE WHEN step IS NULL OR NOT step_matched THEN step WHEN ${KEEPS} THEN step END,
           step_matched,
           CASE WHEN excerpt IS NULL THEN NULL WHEN ${KEEPS} THEN excerpt END,
           location, actions, decode($2, 'hex'),
           CASE WHEN tool IS NULL OR surface <> 'tool_name' THEN tool WHEN ${KEEPS} THEN tool END,
           ${keyed('match')}, ${FURTHER},
           done.agent, done.service, done."user", done.session, done.model
      FROM done JOIN ${tableOf(FINDING_COLUMNS, FIRST_FINDING_COLUMN)}
        ON t.of_run = done.place
     ORDER BY t.place
    ON CONFLICT (workspace_id, run_id, rule_id) DO UPDATE SET more_places = ${MERGED}
     WHERE ${MERGED} IS DISTINCT FROM findings.more_places
    RETURNING *, xmax = 0 AS is_new
  ), found AS (
    SELECT workspace_id, id, run_id, severity, category, is_new FROM stored
     WHERE is_new OR ${isFirstExcepted('stored')}
  ), queued AS (${QUEUE_ALERTS}
  )
  SELECT done.place::int - 1 AS place,
         ARRAY(SELECT severity FROM found
                WHERE is_new AND found.workspace_id = done.workspace_id AND found.run_id = done.run_id)
           AS severities
    FROM done`;

const COMPLETE_RUNS = storing(MARK, `${STORE_RULE_SETS}${END_LEASES}`);
const KEEP_FINDINGS = storing(DO_NOT_MARK);

/**
 * Stores the findings of evaluated runs and marks the runs, all or nothing; skips runs that the caller
 * no longer has leased.
 *
 * An excerpt, and a step's name that is matched text, is stored only if its workspace does not redact.
 * The workspace's row is locked FOR SHARE until the end of the transaction: that reads its
 * newest version, however long the statement has waited, and blocks the UPDATE of `setRedaction`
 * (workspace-writes.ts; FOR KEY SHARE would not). So either the switch waits, and removes what is stored
 * here, or it is committed, and no excerpt is stored. Only workspaces with an excerpt to store are
 * locked, in the order of their ids, and not before the first excerpt: PostgreSQL evaluates a subquery
 * in CASE when it is needed. By then the runs are locked, so a transaction with a workspace's lock
 * never waits for a run.
 *
 * Titles and names of tools need no lock: one that is stored while redaction is being switched on is not read, and the next
 * upkeep removes it (run-titles.ts).
 *
 * @throws PostgreSQL's error. Its `detail` may quote a row, excerpt included: never logged
 *   (`errorFacts`), nor written to the embedded server's log (settings in cluster.ts)
 * @returns for each run the severities of the new findings; null for a run that another process has
 *   claimed meanwhile, which is unchanged
 */
export async function completeRuns(
  database: Queryable,
  evaluations: readonly EvaluatedRun[],
  corpus: EvaluatingCorpus,
): Promise<(Severity[] | null)[]> {
  return await store(database, COMPLETE_RUNS, evaluations, corpus);
}

/**
 * Stores findings of a run that stays pending.
 *
 * @returns the severities of the findings that are new (a rule has one finding per run); null when
 *   another process has claimed the run
 */
export async function keepFindings(
  database: Queryable,
  kept: Pick<EvaluatedRun, 'run' | 'findings' | 'facts' | 'redactExcerpts'>,
  corpus: EvaluatingCorpus,
): Promise<Severity[] | null> {
  // Other columns of an evaluated run are not stored here.
  const evaluation: EvaluatedRun = {
    ...kept,
    ruleSetSha256: '',
    steps: 0,
    repeatedSpans: 0,
    unreadSteps: 0,
    texts: 0,
    surfaces: [],
    truncatedTexts: 0,
    textCapBytes: 0,
    unparsedValues: 0,
    usage: NO_USAGE,
    title: null,
    tools: [],
  };
  const stored = await store(database, KEEP_FINDINGS, [evaluation], corpus);
  return stored[0] ?? null;
}

async function store(
  database: Queryable,
  text: string,
  evaluations: readonly EvaluatedRun[],
  corpus: EvaluatingCorpus,
): Promise<(Severity[] | null)[]> {
  const findings = placedFindings(evaluations);
  const keepsExcerpts = new Set(
    findings.flatMap(({ excerpt, place }) => (excerpt === null ? [] : [place])),
  );
  const workspaceIds = evaluations.flatMap(({ run }, index) =>
    keepsExcerpts.has(index + 1) ? [run.workspaceId] : [],
  );
  const { rows } = await database.query<{ place: number; severities: Severity[] }>({
    text,
    values: [
      corpus.version,
      corpus.identity,
      [...new Set(workspaceIds)],
      ...valuesOf(
        RUN_COLUMNS,
        evaluations.map((one) => ({ ...one, ruleSet: ruleSetId(corpus, one) })),
      ),
      ...valuesOf(FINDING_COLUMNS, findings),
    ],
  });
  const stored = new Map(rows.map(({ place, severities }) => [place, severities]));
  return evaluations.map((_, place) => stored.get(place) ?? null);
}

function placedFindings(evaluations: readonly EvaluatedRun[]): PlacedFinding[] {
  return evaluations.flatMap(({ findings, redactExcerpts }, index) =>
    oncePerRule(findings).map((finding) => ({
      place: index + 1,
      finding,
      excerpt: redactExcerpts ? null : finding.excerpt,
      stepName: redactExcerpts && finding.stepNameMatched ? null : finding.stepName,
      toolName: redactExcerpts && finding.surface === 'tool_name' ? null : finding.toolName,
      further: (finding.morePlaces ?? []).map((place) => toStored(place, redactExcerpts)),
    })),
  );
}

/** One statement can store a rule's finding once. */
function oncePerRule(findings: readonly FindingDraft[]): FindingDraft[] {
  const first = new Map<string, FindingDraft>();
  for (const finding of findings) {
    if (!first.has(finding.ruleId)) first.set(finding.ruleId, finding);
  }
  return [...first.values()];
}

function toStored(place: FurtherPlace, redactExcerpts: boolean): object {
  return {
    description: place.description,
    condition: place.conditionIndex,
    conditionDescription: place.conditionDescription,
    field: place.field,
    surface: place.surface,
    span: place.stepSpanId,
    stepName: redactExcerpts && place.stepNameMatched ? null : place.stepName,
    stepNameMatched: place.stepNameMatched,
    tool: redactExcerpts && place.surface === 'tool_name' ? null : place.toolName,
    excerpt: redactExcerpts ? null : place.excerpt,
    match: place.matchSha256,
    place: place.place,
    rest: place.isRest,
  };
}

// The rule sets of evaluations: corpus, rules and cap of texts. Runs share it and name it by a digest, so that
// any process stores the same row, and none has to look it up.

/** Returns the id: 64 bits of SHA-256. */
function ruleSetId(
  { version, identity }: EvaluatingCorpus,
  { ruleSetSha256, textCapBytes }: EvaluatedRun,
): Int64 {
  const named = JSON.stringify([version, identity, ruleSetSha256, textCapBytes]);
  return String(createHash('sha256').update(named).digest().readBigInt64BE());
}
