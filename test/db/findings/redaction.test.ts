/**
 * A workspace's redaction: no excerpt is stored while it is on, and switching it on removes those
 * that were. Storing and switching are two connections, held in either order.
 */
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Connection, Queryable } from '../../../src/db/database.ts';
import { listFindings } from '../../../src/db/findings/finding-list.ts';
import { listFindingFacts } from '../../../src/db/findings/findings.ts';
import { COMMAND_LINE } from '../../../src/db/people/audit.ts';
import { setRedaction } from '../../../src/db/people/workspace-writes.ts';
import {
  createWorkspace,
  listWorkspaces,
  removeExcerpts,
} from '../../../src/db/people/workspaces.ts';
import type { EvaluatedRun } from '../../../src/db/runs/complete-runs.ts';
import { type ClaimedRun, claimRuns } from '../../../src/db/runs/evaluation-queue.ts';
import { findRun, listRuns } from '../../../src/db/runs/runs.ts';
import { OperatorError, SluiceError } from '../../../src/errors.ts';
import type { FindingDraft } from '../../../src/model/findings.ts';
import type { Hex16 } from '../../../src/model/json.ts';
import type { Severity } from '../../../src/model/rules.ts';
import { NO_USAGE } from '../../../src/model/usage.ts';
import { errorFacts } from '../../../src/observe/error-facts.ts';
import { reasonOf } from '../../../src/pool/reason.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../../support/database.ts';
import { completeRun } from '../../support/evaluation.ts';
import { DIGESTED, findingDraft, hex16, runFacts } from '../../support/rows.ts';
import { waitFor } from '../../support/wait-for.ts';

type OneRun = Omit<EvaluatedRun, 'ruleSetSha256'>;
const CORPUS = { version: '4.0.0', identity: 'c0'.repeat(20), ruleSetSha256: 'ab'.repeat(32) };
const SAID = 'the words of a customer';
/** More than one statement removes. */
const MANY = 4500;

let scratch: MigratedDatabase;
let mine: number;
let theirs: number;

beforeAll(async () => {
  scratch = await openMigratedDatabase();
  mine = (await createWorkspace(scratch.database, 'mine', 'Mine')).id;
  theirs = (await createWorkspace(scratch.database, 'theirs', 'Theirs')).id;
});
afterAll(() => scratch.close());
beforeEach(async () => {
  await scratch.database.query('TRUNCATE runs, leases, findings CASCADE');
  await scratch.database.query('UPDATE workspaces SET redact_excerpts = false');
});

async function claimedRun(workspaceId = mine, runId: Hex16 = hex16(1)): Promise<ClaimedRun> {
  await scratch.database.query(
    `INSERT INTO runs (workspace_id, run_id, state, spans, log_records)
     VALUES ($1, $2, 'completed', 1, 0)`,
    [workspaceId, runId],
  );
  const settings = { settleMs: 0, timeoutMs: 0, limit: 1 };
  const [run] = await claimRuns(scratch.database, settings);
  if (run === undefined) throw new Error('nothing was claimed');
  return run;
}

function store(
  run: ClaimedRun,
  fields: Partial<OneRun> = {},
  database: Queryable = scratch.database,
): Promise<Severity[] | null> {
  const evaluation = {
    run,
    findings: [findingDraft({ excerpt: SAID })],
    facts: runFacts({ state: run.state }),
    redactExcerpts: false,
    steps: 1,
    repeatedSpans: 0,
    unreadSteps: 0,
    texts: 1,
    surfaces: ['step_input' as const],
    truncatedTexts: 0,
    textCapBytes: 65_536,
    unparsedValues: 0,
    usage: NO_USAGE,
    title: null,
    tools: [],
    ...fields,
  };
  return completeRun(database, evaluation, CORPUS);
}

const stored = async (): Promise<unknown[]> =>
  (await scratch.rows('SELECT excerpt FROM findings ORDER BY workspace_id')).map(
    ({ excerpt }) => excerpt,
  );

/** Findings with excerpts, all of one moment, so that ids alone tell them apart. */
async function insertFindings(count: number, workspaceId = mine): Promise<void> {
  await scratch.database.query(
    `INSERT INTO findings (workspace_id, id, run_id, rule_id, rule_version, rule_status, severity,
       category, corpus_version, description, condition_index, condition_description, field,
       surface, step_name, excerpt, recommended_actions,
       ${DIGESTED.columns})
     SELECT $1, lpad(to_hex(n), 32, '0')::uuid, gen_random_uuid(), 'R', '1', 'stable', 'high',
            'prompt-injection', '4', 'd', 0, 'c', 'content', 'tool_result', 's', $3, '[]', ${DIGESTED.values}
       FROM generate_series(1, $2::int) AS n`,
    [workspaceId, count, SAID],
  );
}

async function excerptsLeft(workspaceId = mine): Promise<unknown> {
  const [row] = await scratch.rows(
    'SELECT count(excerpt)::int AS excerpts FROM findings WHERE workspace_id = $1',
    [workspaceId],
  );
  return row?.excerpts;
}

/** The switch without its ledger entry, where a test holds its transaction or its statements. */
async function switchOn(database: Queryable): Promise<number> {
  await database.query('UPDATE workspaces SET redact_excerpts = true WHERE id = $1', [mine]);
  return await removeExcerpts(database, mine);
}

const redacting = async (): Promise<boolean | undefined> =>
  (await listWorkspaces(scratch.database)).find(({ id }) => id === mine)?.redactExcerpts;

/** Lends a connection with a transaction open; what it left open is rolled back. */
async function inOpenTransaction(work: (connection: Connection) => Promise<void>): Promise<void> {
  const connection = await scratch.database.connect();
  try {
    await connection.query('BEGIN');
    await work(connection);
  } finally {
    await connection.query('ROLLBACK');
    connection.release();
  }
}

const WAITING = `SELECT pid FROM pg_stat_activity
                  WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0`;

/** The server process that waits for another one's lock. */
const waiting = (what: string): Promise<unknown> =>
  waitFor(async () => (await scratch.rows(WAITING))[0]?.pid, { withinMs: 20_000, what });

describe('storing', () => {
  test('leaves out the excerpts of a workspace that redacts, and of no other', async () => {
    await setRedaction(scratch.database, mine, true, COMMAND_LINE);
    expect(await store(await claimedRun(mine))).toEqual(['high']);
    expect(await store(await claimedRun(theirs))).toEqual(['high']);
    expect(await stored()).toEqual([null, SAID]);
  });

  test('hands no excerpt to PostgreSQL when the pass knew, whatever was switched since', async () => {
    const run = await claimedRun();
    const sent: unknown[] = [];
    const listening = {
      query: (statement: { values: unknown[] }) => {
        sent.push(...statement.values);
        return scratch.database.query(statement as never);
      },
    } as unknown as Queryable;
    expect(await store(run, { redactExcerpts: true }, listening)).toEqual(['high']);
    expect(sent.length).toBeGreaterThan(0);
    expect(JSON.stringify(sent)).not.toContain(SAID);
    expect(await stored()).toEqual([null]);
  });

  test('without an excerpt to store it waits for no switch', async () => {
    const clean = await claimedRun(mine, hex16(1));
    const known = await claimedRun(mine, hex16(2));
    await inOpenTransaction(async (switching) => {
      await switchOn(switching);
      expect(await store(clean, { findings: [] })).toEqual([]);
      expect(await store(known, { redactExcerpts: true })).toEqual(['high']);
    });
  });

  test('that fails says nothing of the excerpt, though PostgreSQL quotes it', async () => {
    const run = await claimedRun();
    await scratch.database.query(
      `ALTER TABLE findings ADD CONSTRAINT refuses CHECK (excerpt IS NULL)`,
    );
    try {
      const failure: unknown = await store(run).catch((error: unknown) => error);
      expect(failure).toMatchObject({ code: '23514', detail: expect.stringContaining(SAID) });
      expect(reasonOf(failure)).toBe('error 23514');
      expect(errorFacts(failure)).toEqual({ error: 'error', code: '23514', at: 'findings' });
    } finally {
      await scratch.database.query('ALTER TABLE findings DROP CONSTRAINT refuses');
    }
    expect(await stored()).toEqual([]);
  });
});

describe('a step named after what was matched', () => {
  const named = (fields: Partial<FindingDraft>) => ({
    findings: [findingDraft({ excerpt: SAID, stepName: SAID, ...fields })],
  });
  const names = async (): Promise<unknown[]> =>
    (await scratch.rows('SELECT step_name FROM findings ORDER BY run_id')).map(
      ({ step_name: name }) => name,
    );
  const listed = async (): Promise<unknown[]> => {
    const { findings } = await listFindings(scratch.database, mine, {}, null, 10);
    return findings.map(({ stepName }) => stepName).reverse();
  };
  const exported = async (): Promise<unknown[]> => {
    const range = { after: null, before: '9000000000000000' };
    const { findings } = await listFindingFacts(scratch.database, mine, {}, range, 10);
    return findings.map(({ stepName }) => stepName);
  };

  test('keeps no name while the workspace redacts, known to the pass or not', async () => {
    await setRedaction(scratch.database, mine, true, COMMAND_LINE);
    await store(await claimedRun(mine, hex16(1)), named({ stepNameMatched: true }));
    const known = { ...named({ stepNameMatched: true }), redactExcerpts: true };
    await store(await claimedRun(mine, hex16(2)), known);
    await store(await claimedRun(mine, hex16(3)), named({ stepName: 'a plain name' }));
    expect(await names()).toEqual([null, null, 'a plain name']);
    expect(await listed()).toEqual([null, null, 'a plain name']);
  });

  test('loses it when redaction is switched on; no export ever has it', async () => {
    await store(await claimedRun(mine, hex16(1)), named({ stepNameMatched: true }));
    await store(await claimedRun(mine, hex16(2)), named({ stepName: 'a plain name' }));
    expect(await listed()).toEqual([SAID, 'a plain name']);
    expect(await exported()).toEqual([null, 'a plain name']);
    expect(await setRedaction(scratch.database, mine, true, COMMAND_LINE)).toBe(2);
    expect(await names()).toEqual([null, 'a plain name']);
  });

  test('the name of its tool, where a rule matched that, goes and comes with the excerpt', async () => {
    const both = (surface: 'tool_name' | 'tool_args') => named({ surface, toolName: SAID });
    const tools = async () => {
      const { findings } = await listFindings(scratch.database, mine, {}, null, 10);
      const range = { after: null, before: '9000000000000000' };
      const facts = await listFindingFacts(scratch.database, mine, {}, range, 10);
      return [findings.toReversed(), facts.findings].map((all) =>
        all.map(({ toolName }) => toolName),
      );
    };
    await store(await claimedRun(mine, hex16(1)), both('tool_name'));
    await store(await claimedRun(mine, hex16(2)), both('tool_args'));
    expect(await tools()).toEqual([
      [SAID, SAID],
      [null, SAID],
    ]);
    await setRedaction(scratch.database, mine, true, COMMAND_LINE);
    await store(await claimedRun(mine, hex16(3)), both('tool_name'));
    await store(await claimedRun(mine, hex16(4)), { ...both('tool_name'), redactExcerpts: true });
    const stored = await scratch.rows('SELECT tool_name FROM findings ORDER BY run_id');
    expect(stored.map(({ tool_name: name }) => name)).toEqual([null, SAID, null, null]);
    expect((await tools())[0]).toEqual([null, SAID, null, null]);
  });

  test('hides the name of the run it is in', async () => {
    const place = { ...findingDraft().place, nameDigests: ['digest'] };
    await store(await claimedRun(), named({ stepNameMatched: true, place }));
    await scratch.rows('UPDATE runs SET name = $1', [SAID]);
    const shown = async () => {
      const { runs } = await listRuns(scratch.database, mine, {}, null, 10);
      const one = await findRun(scratch.database, mine, hex16(1));
      return [...runs.map(({ name }) => name), one?.run.name, one?.redactedNames];
    };
    expect(await shown()).toEqual([SAID, SAID, []]);
    await setRedaction(scratch.database, mine, true, COMMAND_LINE);
    expect(await shown()).toEqual([null, null, ['digest']]);
  });
});

describe('the digest of matched text', () => {
  const digests = async (): Promise<string[]> =>
    (
      await scratch.rows(
        `SELECT encode(match_digest, 'hex') AS digest FROM findings ORDER BY run_id`,
      )
    ).map(({ digest }) => String(digest));

  test('is equal for equal text of one workspace, of no other text and in no other workspace', async () => {
    const withText = (matchSha256: string) => ({ findings: [findingDraft({ matchSha256 })] });
    await store(await claimedRun(mine, hex16(1)), withText('01'.repeat(32)));
    await store(await claimedRun(mine, hex16(2)), withText('01'.repeat(32)));
    await store(await claimedRun(mine, hex16(3)), withText('02'.repeat(32)));
    await store(await claimedRun(theirs, hex16(4)), withText('01'.repeat(32)));
    const [first, second, ...others] = await digests();
    expect(first).toMatch(/^[0-9a-f]{64}$/);
    expect(second).toBe(first);
    expect(new Set([first, ...others]).size).toBe(3);
  });

  test('is SHA-256 under both keys of its workspace, which differ', async () => {
    await store(await claimedRun());
    const [keys] = await scratch.rows(
      'SELECT match_key_inner AS inner, match_key_outer AS outer FROM workspaces WHERE id = $1',
      [mine],
    );
    const [inner, outer] = [keys?.inner, keys?.outer] as [Buffer, Buffer];
    expect([inner.length, outer.length, inner.equals(outer)]).toEqual([64, 64, false]);
    const sha256 = (...parts: Buffer[]) =>
      createHash('sha256').update(Buffer.concat(parts)).digest();
    const match = Buffer.from(findingDraft().matchSha256, 'hex');
    expect(await digests()).toEqual([sha256(outer, sha256(inner, match)).toString('hex')]);
  });
});

describe('storing beside the switch', () => {
  test('stored first: the switch waits for it, then removes its excerpt', async () => {
    const run = await claimedRun();
    await inOpenTransaction(async (storing) => {
      expect(await store(run, {}, storing)).toEqual(['high']);
      const switched = setRedaction(scratch.database, mine, true, COMMAND_LINE);
      await waiting('the switch waits for who stores');
      await storing.query('COMMIT');
      expect(await switched).toBe(1);
    });
    expect(await stored()).toEqual([null]);
  });

  // In one transaction, other than in `setRedaction`, so that the switch can be held.
  test.each([
    ['COMMIT', null],
    ['ROLLBACK', SAID],
  ])('switched first: storing waits, and at %s does as it was decided', async (end, excerpt) => {
    const run = await claimedRun();
    await inOpenTransaction(async (switching) => {
      await switchOn(switching);
      const storing = store(run);
      await waiting('who stores waits for the switch');
      await switching.query(end);
      expect(await storing).toEqual(['high']);
    });
    expect(await stored()).toEqual([excerpt]);
  });

  test('storing that began before the switch and ends after it sees it', async () => {
    const run = await claimedRun();
    await inOpenTransaction(async (holding) => {
      await holding.query('SELECT 1 FROM runs FOR UPDATE');
      const storing = store(run);
      await waiting('who stores waits for its run');
      expect(await setRedaction(scratch.database, mine, true, COMMAND_LINE)).toBe(0);
      await holding.query('COMMIT');
      expect(await storing).toEqual(['high']);
    });
    expect(await stored()).toEqual([null]);
  });

  test('two who store at once do not wait for each other', async () => {
    const first = await claimedRun(mine, hex16(1));
    const second = await claimedRun(mine, hex16(2));
    await inOpenTransaction(async (storing) => {
      await store(first, {}, storing);
      expect(await store(second)).toEqual(['high']);
      await storing.query('COMMIT');
    });
    expect(await stored()).toEqual([SAID, SAID]);
  });
});

describe('switching', () => {
  test('on removes every excerpt of the workspace, however many, and of no other', async () => {
    await insertFindings(MANY);
    await insertFindings(3, theirs);
    expect(await setRedaction(scratch.database, mine, true, COMMAND_LINE)).toBe(MANY);
    expect([await excerptsLeft(mine), await excerptsLeft(theirs)]).toEqual([0, 3]);
    expect(await redacting()).toBe(true);
    expect(await setRedaction(scratch.database, mine, true, COMMAND_LINE)).toBe(0);
  });

  test('removing reads no finding twice, whatever the statistics of the table say', async () => {
    await insertFindings(1);
    await scratch.database.query('ANALYZE findings');
    await scratch.database.query('TRUNCATE findings CASCADE');
    await insertFindings(MANY);
    await scratch.database.query('UPDATE workspaces SET redact_excerpts = true WHERE id = $1', [
      mine,
    ]);
    const plans: unknown[] = [];
    const explaining = {
      query: async (text: string, values: unknown[]) => {
        const { rows } = await scratch.database.query(`EXPLAIN (FORMAT JSON) ${text}`, values);
        plans.push(...rows);
        return await scratch.database.query(text, values);
      },
    } as unknown as Queryable;
    expect(await removeExcerpts(explaining, mine)).toBe(MANY);
    expect(plans.length).toBeGreaterThan(2);
    expect(JSON.stringify(plans)).not.toMatch(/Nested Loop|Hash Join|Merge Join/u);
  });

  test('off brings nothing back; what is found later has its excerpt', async () => {
    await store(await claimedRun());
    await setRedaction(scratch.database, mine, true, COMMAND_LINE);
    expect(await setRedaction(scratch.database, mine, false, COMMAND_LINE)).toBe(0);
    expect(await redacting()).toBe(false);
    await store(await claimedRun(mine, hex16(2)));
    expect(await scratch.rows('SELECT run_id, excerpt FROM findings ORDER BY run_id')).toEqual([
      { run_id: hex16(1), excerpt: null },
      { run_id: hex16(2), excerpt: SAID },
    ]);
  });

  test('broken off, it is on and shows none; done again, it removes the rest', async () => {
    await insertFindings(MANY);
    await inOpenTransaction(async (holding) => {
      // The oldest of all: the last statement comes to a halt at it.
      await holding.query('SELECT 1 FROM findings WHERE id = $1 FOR UPDATE', [hex16(1)]);
      const broken = expect(
        setRedaction(scratch.database, mine, true, COMMAND_LINE),
      ).rejects.toMatchObject({
        code: '57P01',
      });
      const pid = await waiting('removing waits for a finding');
      await scratch.database.query('SELECT pg_terminate_backend($1)', [pid]);
      await broken;
    });
    expect(await redacting()).toBe(true);
    expect(await excerptsLeft()).toBe(500);
    const { findings } = await listFindings(scratch.database, mine, {}, null, MANY);
    expect(new Set(findings.map(({ excerpt }) => excerpt))).toEqual(new Set([null]));
    expect(await setRedaction(scratch.database, mine, true, COMMAND_LINE)).toBe(500);
    expect(await excerptsLeft()).toBe(0);
  });

  test('off while excerpts are removed: no more are, and it is said', async () => {
    await insertFindings(MANY);
    let statements = 0;
    const interrupted = {
      query: async (text: string, values: unknown[]) => {
        statements += 1;
        if (statements === 3) await setRedaction(scratch.database, mine, false, COMMAND_LINE);
        return await scratch.database.query(text, values);
      },
    } as unknown as Queryable;
    await expect(switchOn(interrupted)).rejects.toEqual(
      new OperatorError(
        'Redaction was switched off again before all excerpts were removed; ' +
          '2000 were removed, the rest is kept.',
      ),
    );
    expect(await excerptsLeft()).toBe(2500);
    expect(await redacting()).toBe(false);
  });

  test('two simultaneous switches both succeed, and each excerpt goes once', async () => {
    await insertFindings(MANY);
    const removed = await Promise.all([
      setRedaction(scratch.database, mine, true, COMMAND_LINE),
      setRedaction(scratch.database, mine, true, COMMAND_LINE),
    ]);
    expect(removed[0] + removed[1]).toBe(MANY);
    expect(await excerptsLeft()).toBe(0);
  });

  test('of a workspace that is not there is refused', async () => {
    await expect(setRedaction(scratch.database, 404, true, COMMAND_LINE)).rejects.toEqual(
      new SluiceError('not_found', 'There is no such workspace.'),
    );
  });
});
