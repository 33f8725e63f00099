/** Each definition is stored once per workspace, by several processes, too; a change is known as one. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { inTransaction } from '../../../src/db/database.ts';
import { COMMAND_LINE } from '../../../src/db/people/audit.ts';
import { setRedaction } from '../../../src/db/people/workspace-writes.ts';
import { createWorkspace } from '../../../src/db/people/workspaces.ts';
import { Retention } from '../../../src/db/retention/retention.ts';
import { storeTools, type ToolList, toolListOf } from '../../../src/db/tools/store-tools.ts';
import { findTool, listTools } from '../../../src/db/tools/tool-list.ts';
import { acknowledgeTool } from '../../../src/db/tools/tool-writes.ts';
import { toDefinition } from '../../../src/engine/tools/definition-values.ts';
import {
  TOOL_DEFINITIONS_MAX,
  TOOL_LISTS_MAX,
  TOOL_VERSIONS_MAX,
} from '../../../src/model/shown/tools.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../../support/database.ts';
import { hex16 } from '../../support/rows.ts';

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
  await scratch.database.query('TRUNCATE tool_definitions, tool_lists');
});

type Given = readonly [name: string, description: string | null, schema?: string | null];

function listOf(tools: readonly Given[], agent = 'planner'): ToolList {
  const definitions = tools.flatMap(([name, description, schema = '{}']) => {
    const one = toDefinition({ name, server: 'mail', description, schema });
    return one === null ? [] : [one];
  });
  const list = toolListOf({ definitions, leftOut: 0 }, agent);
  if (list === null) throw new Error('a list without tools');
  return list;
}

const storeIn = (workspaceId: number, list: ToolList): Promise<number> =>
  inTransaction(scratch.database, (connection) =>
    storeTools(connection, [{ workspaceId, runId: hex16(1), list }]),
  );
const store = (...tools: readonly Given[]) => storeIn(mine, listOf(tools));

const stored = () =>
  scratch.rows(
    `SELECT name, version, is_change AS change, description FROM tool_definitions
      WHERE workspace_id = ${mine} ORDER BY name, version`,
  );

test('once, from processes at the same time, with versions in one order', async () => {
  const lists = Array.from({ length: 6 }, (_, at) =>
    listOf([
      ['send', `v${at % 3}`],
      ['read', 'Reads.'],
      [`own${at}`, 'x'],
    ]),
  );
  await Promise.all([...lists, ...lists.toReversed()].map((list) => storeIn(mine, list)));
  const rows = await stored();
  expect(rows.filter(({ name }) => name === 'read')).toEqual([
    { name: 'read', version: 1, change: false, description: 'Reads.' },
  ]);
  const sent = rows.filter(({ name }) => name === 'send');
  expect(sent.map(({ version, change }) => [version, change])).toEqual([
    [1, false],
    [2, true],
    [3, true],
  ]);
  expect(rows).toHaveLength(1 + 3 + 6);
  expect(await scratch.rows('SELECT count(*)::int AS lists FROM tool_lists')).toEqual([
    { lists: 6 },
  ]);
});

test('a part that a sender does not send is no change', async () => {
  await store(['send', 'Sends.', null]);
  await store(['send', 'Sends.', '{"a":1}']);
  await store(['send', null, '{"a":1}']);
  await store(['send', 'Sends.', '{"a":2}']);
  await store(['send', 'Sends.', '{"a":1}']);
  expect((await stored()).map(({ change }) => change)).toEqual([false, false, false, true]);
});

test('the tools of two agents, and of two workspaces, have nothing to do with each other', async () => {
  await store(['send', 'a']);
  await storeIn(mine, listOf([['send', 'b']], 'other'));
  await storeIn(theirs, listOf([['send', 'c']]));
  expect(await scratch.rows('SELECT workspace_id FROM tool_definitions WHERE is_change')).toEqual(
    [],
  );
  await storeIn(theirs, listOf([['send', 'a']]));
  expect(
    await scratch.rows('SELECT workspace_id AS "in" FROM tool_definitions WHERE is_change'),
  ).toEqual([{ in: theirs }]);
});

test('the newest versions of a tool are kept, and their numbers show that there were more', async () => {
  for (let at = 0; at < TOOL_VERSIONS_MAX + 3; at += 1) await store(['send', `v${at}`]);
  const versions = (await stored()).map(({ version }) => version);
  expect(versions).toHaveLength(TOOL_VERSIONS_MAX);
  expect(versions[0]).toBe(4);
});

test('definitions past the limit of a workspace are counted, in the answer and in the list', async () => {
  await scratch.database.query(
    `INSERT INTO tool_definitions (workspace_id, id, tool_id, first_run_id, version, description_chars, schema_chars,
       is_change, agent)
     SELECT $1, gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 1, 0, 0, false, '' FROM generate_series(2, $2)`,
    [mine, TOOL_DEFINITIONS_MAX],
  );
  expect(await store(['a', 'x'], ['b', 'x'], ['c', 'x'])).toBe(2);
  expect(
    await scratch.rows('SELECT left_out AS out, cardinality(definitions) AS "in" FROM tool_lists'),
  ).toEqual([{ out: 2, in: 1 }]);
});

test('the lists that were seen last are kept', async () => {
  await scratch.database.query(
    `INSERT INTO tool_lists (workspace_id, id, left_out, definitions, last_seen_at)
     SELECT $1, n, 0, '{}', now() - n * interval '1 minute' FROM generate_series(1, $2) AS n`,
    [mine, TOOL_LISTS_MAX],
  );
  await store(['a', 'x']);
  const [row] = await scratch.rows(
    'SELECT count(*)::int AS lists, max(id) = 1 AS no FROM tool_lists',
  );
  expect(row?.lists).toBe(TOOL_LISTS_MAX);
  expect(await scratch.rows(`SELECT id FROM tool_lists WHERE id = ${TOOL_LISTS_MAX}`)).toEqual([]);
});

test('a workspace that redacts keeps hashes, and no text; what comes later has its text again', async () => {
  await store(['a', 'secret 1']);
  await setRedaction(scratch.database, mine, true, COMMAND_LINE);
  await store(['a', 'secret 1']);
  await store(['a', 'secret 2']);
  expect(await stored()).toEqual([
    { name: null, version: 1, change: false, description: null },
    { name: null, version: 2, change: true, description: null },
  ]);
  expect(
    await scratch.rows(
      'SELECT server, schema FROM tool_definitions WHERE server || schema IS NOT NULL',
    ),
  ).toEqual([]);
  await setRedaction(scratch.database, mine, false, COMMAND_LINE);
  await store(['a', 'secret 2']);
  expect((await stored()).map(({ description }) => description)).toEqual(['secret 2', null]);
});

test('what no run has sent since goes with its changes', async () => {
  const retention = new Retention({ telemetry: 30, runs: 30, findings: 0 });
  await store(['old', 'a'], ['new', 'a']);
  await store(['old', 'b']);
  await scratch.database.query(
    `UPDATE tool_definitions SET last_seen_at = now() - interval '31 days' WHERE name = 'old'`,
  );
  await scratch.database.query(`UPDATE tool_lists SET last_seen_at = now() - interval '31 days'`);
  const deleted: unknown[] = [];
  const events = { outdatedDeleted: (...facts: unknown[]) => deleted.push(facts) };
  const { signal } = new AbortController();
  await retention.deleteOutdated(scratch.database, Date.now(), events, signal);
  expect((await stored()).map(({ name }) => name)).toEqual(['new']);
  expect(await scratch.rows('SELECT FROM tool_lists')).toEqual([]);
  expect(deleted).toEqual([['tool_definitions', 2]]);
});

test('a change is open until somebody marks the version that they saw; the next one is open again', async () => {
  const actor = { userId: null, name: 'ada@crew.test', origin: 'a test' };
  for (const description of ['a', 'b', 'c']) await store(['send', description]);
  const open = async () =>
    (await listTools(scratch.database, mine, { changed: true }, 0, 10)).tools.map(
      ({ changes }) => changes,
    );
  const { tools } = await listTools(scratch.database, mine, {}, 0, 10);
  const toolId = tools[0]?.id ?? '';
  expect(await open()).toEqual([2]);
  expect(await acknowledgeTool(scratch.database, theirs, toolId, 3, actor)).toBe(0);
  expect(await acknowledgeTool(scratch.database, mine, toolId, 2, actor)).toBe(1);
  expect(await open()).toEqual([1]);
  expect(await acknowledgeTool(scratch.database, mine, toolId, 3, actor)).toBe(1);
  expect(await open()).toEqual([]);
  const page = await findTool(scratch.database, mine, toolId);
  expect(page?.versions.map((one) => one.acknowledgedBy)).toEqual([actor.name, actor.name, null]);
  await store(['send', 'd']);
  expect(await open()).toEqual([1]);
  expect(await findTool(scratch.database, theirs, toolId)).toBeNull();
});
