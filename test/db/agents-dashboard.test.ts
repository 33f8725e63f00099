/**
 * The queries of deploy/grafana/agents.json, with the macros and variables as Grafana's PostgreSQL data source writes
 * them, against the schema and a role that may read the two views alone.
 */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDatabase, type DatabasePool } from '../../src/db/database.ts';
import { createWorkspace } from '../../src/db/people/workspaces.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../support/database.ts';
import { DIGESTED, hex16 } from '../support/rows.ts';

interface Panel {
  readonly title: string;
  readonly targets: readonly { readonly rawSql: string; readonly format: string }[];
}
const FILE = new URL('../../deploy/grafana/agents.json', import.meta.url);
const { panels, templating } = JSON.parse(readFileSync(FILE, 'utf8')) as {
  readonly panels: readonly Panel[];
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly query: string }[];
  };
};

const FROM = '2026-11-19T00:00:00Z';
const TO = '2026-11-21T00:00:00Z';
const ROLE = 'report_reader';
let scratch: MigratedDatabase;
let reader: DatabasePool;

beforeAll(async () => {
  scratch = await openMigratedDatabase();
  const mine = (await createWorkspace(scratch.database, 'mine', 'Mine')).id;
  const theirs = (await createWorkspace(scratch.database, 'theirs', 'Theirs')).id;
  for (const [run, workspace, agent, state] of [
    [1, mine, 'planner', 'completed'],
    [2, mine, 'planner', 'failed'],
    [3, mine, "o'brien", 'running'],
    [4, theirs, 'planner', 'completed'],
  ] as const) {
    await scratch.rows(
      `INSERT INTO runs (workspace_id, run_id, state, evaluation, agent_name, spans, log_records, first_arrival_at,
         last_arrival_at, start_unix_nano, end_unix_nano, input_tokens, cost_usd, title)
       VALUES ($1, $2, $3, 'evaluated', $4, 1, 0, '2026-11-20T10:00:00Z', '2026-11-20T10:00:00Z', 0, 2000000000, 7,
               0.5, 'secret')`,
      [workspace, hex16(run), state, agent],
    );
  }
  await scratch.rows(
    `INSERT INTO findings (workspace_id, created_at, run_id, rule_id, rule_version, rule_status,
       severity, category, corpus_version, description, condition_index, condition_description,
       field, surface, step_name, agent_name, excerpt, recommended_actions, ${DIGESTED.columns})
     VALUES ($1, '2026-11-20T10:01:00Z', $2, 'ATR-2026-00001', '1', 'stable', 'high', 'tool-poisoning', '4', 'd', 0, '',
             'content', 'tool_args', 's', 'planner', 'secret', '[]', ${DIGESTED.values})`,
    [mine, hex16(1)],
  );
  await scratch.rows(
    `DO $$ BEGIN CREATE ROLE ${ROLE}; EXCEPTION WHEN duplicate_object OR unique_violation THEN END $$`,
  );
  await scratch.rows(`GRANT SELECT ON report_runs, report_findings TO ${ROLE}`);
  reader = createDatabase(scratch.url, 1, { connectionLost: () => {} });
  await reader.query(`SET ROLE ${ROLE}`);
});
afterAll(async () => {
  await reader.end();
  await scratch.close();
});

/** As pkg/tsdb/grafana-postgresql-datasource/macros.go writes them. */
const written = (sql: string): string =>
  sql
    .replaceAll(/\$__timeFilter\((\w+)\)/g, `$1 BETWEEN '${FROM}' AND '${TO}'`)
    .replaceAll(
      /\$__timeGroupAlias\((\w+), \$__interval\)/g,
      'floor(extract(epoch from $1)/3600)*3600 AS "time"',
    )
    .replaceAll('$workspace', 'mine')
    .replaceAll('$agent', `'planner','o''brien'`);
const rowsOf = async (title: string): Promise<Record<string, unknown>[]> => {
  const [target] = panels.find((panel) => panel.title === title)?.targets ?? [];
  const { rows } = await reader.query(written(target?.rawSql ?? ''));
  // A bigint is text here, and a number in Grafana.
  const isWhole = (value: unknown) => typeof value === 'string' && /^\d+$/.test(value);
  return rows.map((row) =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => [name, isWhole(value) ? Number(value) : value]),
    ),
  );
};
const HOUR = Date.parse('2026-11-20T10:00:00Z') / 1000;

describe('the queries of the dashboard of agents', () => {
  test.each(panels.map(({ title }) => title))(
    '%s has rows, and nothing of another workspace',
    async (title) => {
      const rows = await rowsOf(title);
      expect(rows.length).toBeGreaterThan(0);
      expect(JSON.stringify(rows)).not.toContain('secret');
      const [target] = panels.find((panel) => panel.title === title)?.targets ?? [];
      expect(written(target?.rawSql ?? '')).not.toContain('$');
      expect(target?.rawSql).toContain("workspace = '$workspace'");
      if (target?.format === 'time_series') expect(rows[0]).toHaveProperty('time');
    },
  );

  test('counts, shares, quantiles and sums', async () => {
    expect(await rowsOf('Runs')).toEqual([{ runs: 3 }]);
    expect(await rowsOf('Failed')).toEqual([{ failed: 1 / 3 }]);
    expect(await rowsOf('Duration, p95')).toEqual([{ p95: 2 }]);
    expect(await rowsOf('Cost')).toEqual([{ cost: 1.5 }]);
    expect(await rowsOf('Findings')).toEqual([{ findings: 1 }]);
    expect(await rowsOf('Open critical and high findings')).toEqual([{ findings: 1 }]);
    const byAgent = await rowsOf('Runs by agent');
    expect(byAgent.map(({ time, metric, runs }) => [Number(time), metric, runs]).sort()).toEqual([
      [HOUR, "o'brien", 1],
      [HOUR, 'planner', 2],
    ]);
    expect(await rowsOf('Agents')).toMatchObject([
      { agent: 'planner', runs: 2, failed: 1, p50: 2, 'tokens in': 14, cost: 1 },
      { agent: "o'brien", runs: 1, failed: 0, p50: null },
    ]);
  });

  test('the variables have the workspaces, and the agents of the one that is chosen', async () => {
    const [, workspaces, agents] = templating.list.map(({ query }) => query);
    const names = async (query = '') => (await reader.query(written(query))).rows;
    expect(await names(workspaces)).toEqual([{ workspace: 'mine' }, { workspace: 'theirs' }]);
    const recent = agents?.replace("now() - interval '30 days'", "'2026-11-01'");
    expect(await names(recent)).toEqual([{ agent: "o'brien" }, { agent: 'planner' }]);
  });

  test('the role reads nothing else', async () => {
    await expect(reader.query('SELECT title FROM runs')).rejects.toThrow('permission denied');
  });
});
