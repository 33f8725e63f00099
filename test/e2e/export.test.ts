/** `sluice export`: real commands on a database with several days; killed at every write, nothing is lost or doubled. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  compressorOf,
  type ExportOutput,
  fileOutput,
  folderOutput,
} from '../../src/cli/export/export-output.ts';
import { newState, readState } from '../../src/cli/export/export-state.ts';
import { ExportWriter } from '../../src/cli/export/export-writer.ts';
import { type ExportWork, exportAll } from '../../src/cli/export/run-export.ts';
import { inTransaction } from '../../src/db/database.ts';
import { LogRuns } from '../../src/db/telemetry/log-runs.ts';
import { keyOf, storePacked } from '../../src/db/telemetry/packed/store-packed.ts';
import { ensureDay, partitionName } from '../../src/db/telemetry/partitions.ts';
import { decodePlainly } from '../../src/ingest/plain-decoder.ts';
import type { Signal } from '../../src/model/telemetry.ts';
import { packRuns } from '../../src/reads/pack-runs.ts';
import { readStepsOfRuns } from '../../src/reads/steps-of-runs.ts';
import { isExhaustive } from '../support/cases.ts';
import { runCommand, runProcess } from '../support/command.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../support/database.ts';
import { recordsIn } from '../support/exact-records.ts';
import { DAY_MS, hex8, hex16, NOON_MS } from '../support/rows.ts';
import { peakMemoryBytes } from '../support/sockets.ts';
import { storeRequests } from '../support/stored-runs.ts';
import { waitFor } from '../support/wait-for.ts';

const ROOT = join(import.meta.dirname, '../..');

const SIGNALS = ['traces', 'metrics', 'logs'] as const;
const HOUR_MS = 3_600_000;
const ONE = 1;
const OTHER = 2;
/** Requests of each signal in a day of workspace `one`. */
const REQUESTS = 6;

interface Sent {
  readonly signal: Signal;
  readonly workspaceId: number;
  readonly day: number;
  readonly body: string;
}

const service = (name: string) =>
  `"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"${name}"}}]}`;
const nanos = (ms: number, rest: number) => `"${ms}${String(rest).padStart(6, '0')}"`;

/** A body with records of two services and, each request, of another hour. */
function bodyOf(signal: Signal, at: number, ms: number): string {
  const items = (name: string): string => {
    const time = nanos(ms, at);
    const text = `${name} ${at} ${'text '.repeat(200)}`;
    if (signal === 'metrics') {
      const points = [0, 1].map(
        (one) => `{"timeUnixNano":${nanos(ms + one * HOUR_MS, at)},"asInt":"${at}"}`,
      );
      return `{"schemaUrl":"","scopeMetrics":[{"metrics":[{"name":"${text}","gauge":{"dataPoints":[${points}]}}]}],${service(name)}}`;
    }
    const traceId = hex16(1000 + (at % 3));
    if (signal === 'logs') {
      const record = `{"observedTimeUnixNano":${time},"traceId":"${traceId}","body":{"stringValue":"${text}"},"z":1.0}`;
      return `{${service(name)},"scopeLogs":[{"logRecords":[${record}]}]}`;
    }
    const span = `{"traceId":"${traceId}","spanId":"${hex8(at + 1)}","name":"${text}","startTimeUnixNano":${time},"endTimeUnixNano":${time}}`;
    return `{${service(name)},"scopeSpans":[{"scope":{"name":"s"},"spans":[${span}]}]}`;
  };
  const list = { traces: 'resourceSpans', logs: 'resourceLogs', metrics: 'resourceMetrics' }[
    signal
  ];
  return `{"${list}":[${items('shop')},${items('bank')}]}`;
}

let scratch: MigratedDatabase;
let folder: string;
const sent: Sent[] = [];

async function store(one: Sent): Promise<void> {
  const arrivedAtMs = NOON_MS + one.day * DAY_MS;
  const context = { workspaceId: one.workspaceId, arrivedAtMs, logRuns: new LogRuns() };
  const decoded = decodePlainly(one.signal, Buffer.from(one.body), context);
  if (!decoded.ok) throw new Error(decoded.message);
  const connection = await scratch.database.connect();
  try {
    await storeRequests(connection, [decoded.request.encoded]);
  } finally {
    connection.release();
  }
  sent.push(one);
}

beforeAll(async () => {
  scratch = await openMigratedDatabase();
  await scratch.rows(
    "INSERT INTO workspaces (slug, name) VALUES ('one', 'One'), ('other', 'Other')",
  );
  for (const day of [0, 1, 2]) {
    await ensureDay(scratch.database, NOON_MS + day * DAY_MS);
    for (const signal of SIGNALS) {
      for (let at = 0; at < REQUESTS; at += 1) {
        const number = day * 100 + at;
        const body = bodyOf(signal, number, NOON_MS + day * DAY_MS - (at % 4) * 20 * HOUR_MS);
        await store({ signal, workspaceId: ONE, day, body });
      }
      await store({ signal, workspaceId: OTHER, day, body: bodyOf(signal, day, NOON_MS) });
    }
  }
  await scratch.rows(
    "UPDATE runs SET agent_name = 'triage', first_arrival_at = $1, last_arrival_at = $2 WHERE run_id = $3",
    [new Date(NOON_MS), new Date(NOON_MS + 2 * DAY_MS), hex16(1001)],
  );
  await scratch.rows('UPDATE runs SET first_arrival_at = $1, last_arrival_at = $2', [
    new Date(NOON_MS),
    new Date(NOON_MS + 2 * DAY_MS),
  ]);
});
afterAll(() => scratch.close());
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-export-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Days from the first arrival to today: an export ends with today. */
const daysToNow = (): number => Math.floor(Date.now() / DAY_MS) - Math.floor(NOON_MS / DAY_MS) + 1;

const sorted = (records: readonly string[]): string[] => [...records].sort();
const sentRecords = (signal: Signal, keep: (one: Sent) => boolean = () => true): string[] =>
  sorted(
    sent
      .filter((one) => one.workspaceId === ONE && one.signal === signal && keep(one))
      .flatMap(({ body }) => recordsIn(signal, body)),
  );
const everything = () => Object.fromEntries(SIGNALS.map((signal) => [signal, sentRecords(signal)]));

const MEMBERS: Readonly<Record<Signal, string>> = {
  traces: 'resourceSpans',
  logs: 'resourceLogs',
  metrics: 'resourceMetrics',
};

/** The records of lines by signal, sorted. */
function recordsOf(text: string): Record<string, string[]> {
  expect(text === '' || text.endsWith('\n')).toBe(true);
  const lines = text.split('\n').slice(0, -1);
  return Object.fromEntries(
    SIGNALS.map((signal) => {
      const own = lines.filter((line) => MEMBERS[signal] in JSON.parse(line));
      return [signal, sorted(own.flatMap((line) => recordsIn(signal, line)))];
    }),
  );
}

const textOf = (path: string): string => {
  const bytes = readFileSync(path);
  return (path.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString();
};
const filesIn = (path: string): string[] =>
  readdirSync(path, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.includes('.jsonl'))
    .sort();
const recordsBelow = (path: string) =>
  recordsOf(
    filesIn(path)
      .map((name) => textOf(join(path, name)))
      .join(''),
  );

const run = (...words: readonly string[]) =>
  runCommand(['export', '--workspace', 'one', ...words], { DATABASE_URL: scratch.url });

describe('what is exported', () => {
  test('everything, to standard output, as it was sent and in the order of arrival', async () => {
    const { code, stdout, stderr } = await run();
    expect(code).toBe(0);
    expect(recordsOf(stdout)).toEqual(everything());
    const bodies = sent.filter(({ workspaceId }) => workspaceId === ONE).map(({ body }) => body);
    expect(stdout.split('\n').slice(0, -1)).toEqual(bodies);
    expect(stderr).toMatch(/^144 records exported/m);
  });

  test.each(SIGNALS)('only %s, compressed, to a file', async (signal) => {
    const out = join(folder, 'a.jsonl.gz');
    const { code, stdout } = await run('--signal', signal, '--out', out, '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      unreadable_blocks: [],
      days: daysToNow(),
      last_day_is_over: false,
    });
    expect(recordsOf(textOf(out))[signal]).toEqual(sentRecords(signal));
    expect(readdirSync(folder)).toEqual(['a.jsonl.gz']);
  });

  test('a folder has a file for each signal and hour of the records', async () => {
    expect((await run('--out', `${folder}/new/`)).code).toBe(0);
    const path = join(folder, 'new');
    expect(recordsBelow(path)).toEqual(everything());
    const names = filesIn(path);
    expect(names).toContain('traces/2026-11-20T12.jsonl.gz');
    // Sixty hours before their arrival.
    expect(names).toContain('logs/2026-11-20-other-times.jsonl.gz');
    for (const name of names.filter((one) => /T\d\d/.test(one) && one.startsWith('metrics'))) {
      const hour = /T\d\d/.exec(name)?.[0] ?? '';
      for (const point of recordsOf(textOf(join(path, name))).metrics ?? []) {
        const { timeUnixNano } = JSON.parse(point).at(-1);
        const time = new Date(Number(String(timeUnixNano).slice(0, -6))).toISOString();
        expect(time).toContain(hour);
      }
    }
  });

  test('records of a time, of a service, and of days of arrival', async () => {
    const since = new Date(NOON_MS - 20 * HOUR_MS).toISOString();
    const until = new Date(NOON_MS + DAY_MS).toISOString();
    const byTime = recordsOf(
      (await run('--since', since, '--until', until, '--service', 'bank')).stdout,
    );
    for (const signal of SIGNALS) {
      const wanted = sentRecords(signal).filter((record) => {
        const parts = JSON.parse(record);
        const { startTimeUnixNano, timeUnixNano, observedTimeUnixNano } = parts.at(-1);
        const ms = Number(
          String(startTimeUnixNano ?? timeUnixNano ?? observedTimeUnixNano).slice(0, -6),
        );
        const name = parts[1].resource.attributes[0].value.stringValue;
        return ms >= NOON_MS - 20 * HOUR_MS && ms < NOON_MS + DAY_MS && name === 'bank';
      });
      expect(wanted.length).toBeGreaterThan(5);
      expect(byTime[signal]).toEqual(wanted);
    }
    const { stdout } = await run('--arrived', '2026-11-21');
    const ofDay = SIGNALS.map((signal) => [signal, sentRecords(signal, ({ day }) => day === 1)]);
    expect(recordsOf(stdout)).toEqual(Object.fromEntries(ofDay));
    const two = await run('--arrived', '2026-11-21..2026-11-23', '--signal', 'logs');
    expect(recordsOf(two.stdout).logs).toEqual(sentRecords('logs', ({ day }) => day > 0));
  });

  test('records that arrived later than --late-days after --until are not looked for', async () => {
    const early = ['--signal', 'logs', '--until', new Date(NOON_MS - 39 * HOUR_MS).toISOString()];
    const of = async (days: string) => {
      const { stdout } = await run(...early, '--late-days', days);
      return recordsOf(stdout).logs?.length;
    };
    // Two requests arrived on the second day after it.
    expect(await of('1')).toBe(0);
    expect(await of('2')).toBe(4);
  });

  test('whole runs, by id and by agent', async () => {
    const ofRun = (id: string): Record<string, string[]> => ({
      ...Object.fromEntries(
        (['traces', 'logs'] as const).map((signal) => [
          signal,
          sentRecords(signal).filter((record) => record.includes(`"traceId":"${id}"`)),
        ]),
      ),
      metrics: [],
    });
    const byId = await run('--run', hex16(1000), '--run', hex16(1002));
    expect(recordsOf(byId.stdout).traces).toEqual(
      sorted([...(ofRun(hex16(1000)).traces ?? []), ...(ofRun(hex16(1002)).traces ?? [])]),
    );
    const out = join(folder, 'agent');
    expect(await run('--agent', 'triage', '--out', `${out}/`)).toMatchObject({ code: 0 });
    expect(recordsBelow(out)).toEqual(ofRun(hex16(1001)));
    const again = await run('--agent', 'triage', '--out', `${out}/`);
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('is complete') });
    expect((await run('--agent', 'TRIAGE')).stdout).toBe('');
    const missing = await run('--run', hex16(77));
    expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining('has no run') });
  });
});

describe('what is refused', () => {
  test.each([
    [['--json'], 'use --out'],
    [['--agent', 'a', '--run', hex16(1)], 'not both'],
    [['--agent', 'a', '--signal', 'metrics'], 'belong to no run'],
    [['--run', hex16(1), '--arrived', '2026-11-20'], 'leave out --arrived'],
    [['--run', 'x'], '32 hexadecimal digits'],
    [['--arrived', '2026-11-31'], 'UTC day'],
    [['--arrived', '2026-11-21..2026-11-20'], 'UTC day'],
    [['--since', 'yesterday'], '--since must be an ISO 8601 date'],
    [['--compress', 'lz4'], 'Allowed choices are none, gzip, zstd'],
  ])('%s', async (words, why) => {
    expect(await run(...words)).toMatchObject({ code: 1, stderr: expect.stringContaining(why) });
  });

  test('a file and a folder of something else, and other options for one that is there', async () => {
    const out = join(folder, 'a.jsonl');
    writeFileSync(out, 'mine');
    expect(await run('--out', out)).toMatchObject({ code: 1 });
    expect(readFileSync(out, 'utf8')).toBe('mine');
    expect(await run('--out', folder)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('has files, and no export-state.json'),
    });
    const made = join(folder, 'made');
    expect(await run('--out', `${made}/`, '--signal', 'logs')).toMatchObject({ code: 0 });
    expect(await run('--out', made, '--signal', 'logs', '--service', 'bank')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('other options (--service)'),
    });
  });

  test('a workspace that redacts, unless it is meant', async () => {
    await scratch.rows('UPDATE workspaces SET redact_excerpts = true WHERE id = 1');
    try {
      expect(await run()).toMatchObject({ code: 1, stdout: '' });
      const { code, stdout } = await run('--despite-redaction');
      expect({ code, records: recordsOf(stdout) }).toEqual({ code: 0, records: everything() });
    } finally {
      await scratch.rows('UPDATE workspaces SET redact_excerpts = false');
    }
  });

  test('zstd where Node.js does not have it', async () => {
    const out = join(folder, 'a.jsonl.zst');
    const { code, stderr } = await run('--out', out);
    if ('zstd' in process.versions) expect(code).toBe(0);
    else expect(stderr).toContain('has no zstd: use Node.js 22.15 or newer, or --compress gzip');
  });
});

test('a damaged block is named, everything else is exported, and the exit code is 2', async () => {
  const [block] = await scratch.rows(
    `SELECT block_id AS id, data FROM hot_blocks WHERE signal = 3 AND workspace_id = 1
      ORDER BY block_id OFFSET 3 LIMIT 1`,
  );
  const id = String(block?.id);
  const set = 'UPDATE hot_blocks SET data = $2 WHERE block_id = $1';
  await scratch.rows(set, [id, Buffer.concat([block?.data as Buffer, Buffer.from([1])])]);
  try {
    const out = join(folder, 'a');
    const { code, stdout, stderr } = await run('--out', `${out}/`, '--json');
    expect(code).toBe(2);
    expect(JSON.parse(stdout).unreadable_blocks).toEqual([id]);
    expect(stderr).toContain(`Block ${id} cannot be read: its checksum differs.`);
    const given = recordsBelow(out);
    expect(given.logs).toHaveLength(sentRecords('logs').length - 2);
    expect(given.traces).toEqual(sentRecords('traces'));
    // It is still so when the export continues.
    expect((await run('--out', out)).code).toBe(2);
  } finally {
    await scratch.rows(set, [id, block?.data]);
  }
});

class Killed extends Error {}

/** An output of a process that is killed at its n-th write, of which a part is on disk. */
function killedAt(output: ExportOutput, writes: number): ExportOutput {
  let left = writes;
  return {
    ...output,
    append: async (file, bytes) => {
      if (left === 0) {
        await output.append(file, bytes.subarray(0, bytes.length / 2));
        throw new Killed();
      }
      left -= 1;
      await output.append(file, bytes);
    },
    sync: async (files) => {
      if (left === 0) throw new Killed();
      left -= 1;
      await output.sync(files);
    },
  };
}

type Selection = Partial<Pick<ExportWork, 'filter' | 'runs' | 'signals' | 'arrived'>>;

/** Exports as a process does, with small pieces so that there is much to be killed between. */
async function exportTo(
  output: ExportOutput,
  statePath: string,
  nowMs: number,
  selection: Selection = {},
): Promise<void> {
  const before = await readState(statePath, {});
  const state = before ?? newState({}, null, null);
  const compress = compressorOf('gzip');
  const small = { pieceBytes: 4000, bufferedBytes: 12_000, checkpointBytes: 15_000 };
  const writer = new ExportWriter({ output, compress, state, statePath, ...small });
  const progress = { records: 0, blocks: 0, readBytes: 0, days: 0, daysInAll: 0, runs: 0 };
  const work: ExportWork = {
    database: scratch.database,
    clock: { nowMs: () => nowMs } as ExportWork['clock'],
    workspaceId: ONE,
    signals: SIGNALS,
    filter: { sinceMs: null, untilMs: null, service: null },
    lateDays: 2,
    arrived: null,
    runs: null,
    isFullSpeed: true,
    output,
    writer,
    state,
    progress: { ...progress, day: null, endsLive: false },
    ...selection,
  };
  await exportAll(work, before !== null);
}

const LATER_MS = NOON_MS + 5 * DAY_MS;
const OF_ONE_RUN = { runs: { agent: 'triage' }, signals: ['traces', 'logs'] } as const;
const runRecords = () => ({
  traces: sentRecords('traces').filter((record) => record.includes(hex16(1001))),
  logs: sentRecords('logs').filter((record) => record.includes(hex16(1001))),
  metrics: [],
});

describe.each([
  ['a folder, all days', 'folder', {}, everything],
  ['a file, all days', 'file', {}, everything],
  ['a folder, a run', 'folder', OF_ONE_RUN, runRecords],
] as const)('%s', (_, kind, selection, expected) => {
  const placeIn = (made: string) =>
    kind === 'folder'
      ? folderOutput(join(made, 'out'), '.gz')
      : fileOutput(join(made, 'all.jsonl.gz'));

  test('killed at every write, again and again, it ends with each record once', async () => {
    let kills = 0;
    for (let writes = 0; ; writes += isExhaustive ? 1 : 7) {
      const made = join(folder, `${writes}`);
      mkdirSync(made);
      const statePath = join(made, 'state');
      const output = placeIn(made);
      let killed = 0;
      // The next one is killed a little later, so that each makes progress.
      for (let isKilled = true; isKilled; ) {
        try {
          await exportTo(killedAt(output, writes + 3 * killed), statePath, LATER_MS, selection);
          isKilled = false;
        } catch (error) {
          if (!(error instanceof Killed)) throw error;
          killed += 1;
        }
      }
      expect(recordsBelow(made)).toEqual(expected());
      if (killed === 0) break;
      kills += killed;
    }
    expect(kills).toBeGreaterThan(kind === 'folder' && selection !== OF_ONE_RUN ? 20 : 5);
  });
});

test('a process that is killed and started again', async () => {
  const out = join(folder, 'all.jsonl');
  const words = ['export', '--workspace', 'one', '--out', out];
  const child = spawn(process.execPath, [join(ROOT, 'bin/sluice.js'), ...words], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, DATABASE_URL: scratch.url },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  await waitFor(() => existsSync(`${out}.export-state.json`) || child.exitCode !== null, {
    withinMs: 60_000,
    what: 'the export has begun',
  });
  child.kill('SIGKILL');
  if (child.exitCode === null) await once(child, 'exit');
  // It may have ended before it was killed.
  if (existsSync(`${out}.export-state.json`)) {
    expect(await runProcess(words, { DATABASE_URL: scratch.url })).toMatchObject({ code: 0 });
  }
  expect(recordsOf(textOf(out))).toEqual(everything());
});

test('memory does not grow with what is exported', async () => {
  await scratch.rows("INSERT INTO workspaces (slug, name) VALUES ('large', 'Large')");
  const [added] = await scratch.rows("SELECT id FROM workspaces WHERE slug = 'large'");
  const workspaceId = Number(added?.id);
  const span = `{"traceId":"${hex16(7)}","spanId":"${hex8(7)}","name":"${'text '.repeat(100_000)}"}`;
  const body = `{"resourceSpans":[{"scopeSpans":[{"spans":[${span}]}]}]}`;
  await store({ signal: 'traces', workspaceId, day: 0, body });
  const blocks = 800;
  await scratch.rows(
    `INSERT INTO hot_blocks
     SELECT overlay(block_id::text placing lpad(to_hex(n), 12, '0') from 25)::uuid, workspace_id, arrived_on, bytes,
            records, checksum, signal, codec, data
       FROM hot_blocks, generate_series(1, $2::int) AS n WHERE workspace_id = $1`,
    [workspaceId, blocks - 1],
  );
  const words = ['export', '--workspace', 'large', '--full-speed', '--arrived', '2026-11-20'];
  const child = spawn(process.execPath, [join(ROOT, 'bin/sluice.js'), ...words], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, DATABASE_URL: scratch.url },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let [written, peak] = [0, 0];
  for await (const chunk of child.stdout) {
    written += (chunk as Buffer).length;
    // It has not ended: more than a pipe holds is still to come.
    if (written < (blocks - 10) * body.length) peak = await peakMemoryBytes(child.pid ?? 0);
  }
  expect(written).toBe(blocks * (body.length + 1));
  expect(peak).toBeGreaterThan(0);
  expect(peak).toBeLessThan(written / 1.5);
});

describe('the same command again', () => {
  test('adds what arrived since, on a day that was not over and on later ones', async () => {
    const made = join(folder, 'again');
    const statePath = join(folder, 'state');
    const output = folderOutput(made, '.gz');
    const during = NOON_MS + 2 * DAY_MS;
    const records = sent.length;
    await exportTo(output, statePath, during);
    expect(recordsBelow(made)).toEqual(everything());
    for (const signal of SIGNALS) {
      await store({ signal, workspaceId: ONE, day: 2, body: bodyOf(signal, 777, NOON_MS) });
    }
    await exportTo(output, statePath, during + 60_000);
    expect(recordsBelow(made)).toEqual(everything());
    await ensureDay(scratch.database, NOON_MS + 3 * DAY_MS);
    const late = bodyOf('logs', 888, NOON_MS + DAY_MS);
    await store({ signal: 'logs', workspaceId: ONE, day: 3, body: late });
    await store({ signal: 'logs', workspaceId: ONE, day: 2, body: bodyOf('logs', 889, NOON_MS) });
    await exportTo(output, statePath, LATER_MS);
    expect(recordsBelow(made)).toEqual(everything());
    await exportTo(output, statePath, LATER_MS);
    expect(recordsBelow(made)).toEqual(everything());
    expect(sent.length).toBe(records + 5);
  });

  test('into a folder whose files were changed is refused', async () => {
    const made = join(folder, 'changed');
    const statePath = join(folder, 'state');
    const output = folderOutput(made, '.gz');
    await exportTo(output, statePath, LATER_MS, {
      arrived: { first: '2026-11-20', last: '2026-11-20' },
    });
    const [name = ''] = filesIn(made);
    writeFileSync(join(made, name), 'x');
    await expect(exportTo(output, statePath, LATER_MS)).rejects.toThrow('was changed');
  });
});

/** Packs all runs of workspace `one`, as the pass does. */
async function packAll(): Promise<void> {
  const { database } = scratch;
  const runs = (await scratch.rows('SELECT run_id AS id FROM runs WHERE workspace_id = 1')).map(
    ({ id }) => ({
      workspaceId: ONE,
      runId: String(id),
      firstArrivalOn: '2026-11-20',
      lastArrivalOn: '2026-11-23',
    }),
  );
  const read = await readStepsOfRuns(database, runs, { keepsRecords: true });
  const hot = runs.map((run, index) => ({ ...run, hot: read[index]?.hot ?? [] }));
  const blocks = await packRuns(hot);
  const keys = new Set(runs.map(keyOf));
  await inTransaction(database, (connection) => storePacked(connection, blocks, keys));
}

/** As the upkeep drops a hot day. */
async function dropHot(day: string): Promise<void> {
  for (const table of ['hot_places', 'hot_blocks'] as const) {
    await scratch.rows(`DROP TABLE ${partitionName(table, day)}`);
  }
}

describe('packed runs', () => {
  beforeAll(packAll);

  test('are exported once while their hot blocks are there', async () => {
    expect(recordsOf((await run()).stdout)).toEqual(everything());
  });

  test('the hot blocks of a day are dropped while it is exported', async () => {
    const made = join(folder, 'during');
    const output = folderOutput(made, '.gz');
    let appends = 0;
    const dropping: ExportOutput = {
      ...output,
      append: async (file, bytes) => {
        appends += 1;
        if (appends === 5) await dropHot('2026-11-20');
        await output.append(file, bytes);
      },
    };
    await exportTo(dropping, join(folder, 'state'), LATER_MS);
    expect(appends).toBeGreaterThan(10);
    expect(recordsBelow(made)).toEqual(everything());
  });

  test('the hot blocks of a day are dropped before an export continues in it', async () => {
    const made = join(folder, 'between');
    const statePath = join(folder, 'state');
    const output = folderOutput(made, '.gz');
    const part = { arrived: { first: '2026-11-21', last: '2026-11-23' } };
    const first = exportTo(killedAt(output, 5), statePath, LATER_MS, part);
    await expect(first).rejects.toThrow(Killed);
    await dropHot('2026-11-21');
    await exportTo(output, statePath, LATER_MS, part);
    const ofDays = SIGNALS.map((signal) => [signal, sentRecords(signal, ({ day }) => day > 0)]);
    expect(recordsBelow(made)).toEqual(Object.fromEntries(ofDays));
  });

  test('are the same records when their hot blocks are gone, also by hour and by run', async () => {
    await dropHot('2026-11-22');
    const { code, stdout } = await run();
    expect({ code, records: recordsOf(stdout) }).toEqual({ code: 0, records: everything() });
    const out = join(folder, 'hours');
    await run('--out', `${out}/`);
    expect(recordsBelow(out)).toEqual(everything());
    const ofAgent = await run('--agent', 'triage');
    expect(recordsOf(ofAgent.stdout)).toEqual(runRecords());
  });
});
