/**
 * The worst known request of every decoder, and of every route of the server's own table, over a
 * workspace with the maximum of everything. None is too much for the server, and no answer that is
 * made at once is large: what grows without a limit is sent as a stream. How long the event loop is held is
 * measured by `npm run bench -- loop-delay`, and by an exhaustive run of this file, which prints it.
 */
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { canWatchTurns, watchTurns } from '../../bench/loop-delay/turns.ts';
import { worstBodies } from '../../bench/loop-delay/worst-bodies.ts';
import { isExhaustive, sampleOf } from '../support/cases.ts';
import { addCommandLine, addPerson } from '../support/people.ts';
import { nameOf, routesOf } from '../support/served-routes.ts';
import { Browser } from './browser.ts';
import { type Answer, type Gateway, type Keys, openGateway, request } from './gateway.ts';
import { fillLists, worstRuns } from './worst-workspace.ts';

const MIB = 1024 * 1024;
const BODY_BYTES = isExhaustive ? 12 * MIB : 4 * MIB;
/** More than an answer that is made at once may have. */
const GIANT_STEP_BYTES = isExhaustive ? 40 * MIB : 6 * MIB;
/**
 * Of the pages of runs, each fifth: of eight queries a run, so that each query and each run is there.
 * Of the reads that take no query, each fifth run.
 */
const RUN_PAGES_STEP = 5;
/** Most bytes of an answer that is made at once; the page of 2,000 keys takes 3.2 MiB. */
const ANSWER_BYTES_MAX = 4 * MIB;
const PATHS = { traces: '/v1/traces', logs: '/v1/logs', metrics: '/v1/metrics' } as const;
/** Bodies outside ingest have at most 16 KiB. */
const FORM_BYTES = 16_000;
/** Of a route at most twelve requests. */
const ROUTES_OF_A_READER = 40;
const LISTENERS = ['PORT', 'OBSERVE_PORT', 'ADMIN_PORT'] as const;

const watch = isExhaustive && canWatchTurns ? watchTurns() : null;
let gateway: Gateway;
let keys: Keys & { readonly id: number };
let runIds: readonly string[];
let findingId: string;

/** Sends a body as it is, or compressed. */
function send(path: string, body: Buffer, encoding?: string): Promise<Answer> {
  const headers = {
    authorization: `Bearer ${keys.agent}`,
    'content-type': 'application/json',
    ...(encoding === undefined ? {} : { 'content-encoding': encoding }),
  };
  return request(`${gateway.server.observeUrl}${path}`, { method: 'POST', headers, body });
}

beforeAll(async () => {
  gateway = await openGateway({
    ...watch?.settings,
    MAX_BODY_BYTES: String(64 * MIB),
    // On a busy machine such a body may take longer than an exporter waits.
    INGEST_ANSWER_MS: '60000',
    RUN_SETTLE_MS: '600000',
  });
  keys = await gateway.addWorkspace('worst');
  await gateway.database.query("UPDATE workspaces SET plan = 'enterprise'");
  const runs = worstRuns(GIANT_STEP_BYTES);
  runIds = runs.map(({ runId }) => runId);
  for (const { body } of runs) {
    expect((await send(PATHS.traces, Buffer.from(JSON.stringify(body)))).status).toBe(200);
  }
  const rules = await request(`${gateway.server.baseUrl}/platform/v1/atr/rules?per_page=500`, {
    headers: { authorization: `Bearer ${keys.workspace}` },
  });
  const ruleIds = (JSON.parse(rules.text) as { rules: { id: string }[] }).rules.map(({ id }) => id);
  await fillLists(gateway.database, keys.id, ruleIds, runIds);
  const { rows } = await gateway.database.query<{ id: string }>(
    'SELECT id FROM findings WHERE workspace_id = $1 LIMIT 1',
    [keys.id],
  );
  findingId = rows[0]?.id ?? '';
});
afterAll(async () => {
  await gateway.close();
  watch?.close();
});

/** Prints the longest turn of the event loop during `work`, in milliseconds of CPU time. */
async function watched(name: string, work: () => Promise<unknown>): Promise<void> {
  watch?.longestMs();
  await work();
  if (watch === null) return;
  // One more request, so that the turn of the last answer is counted.
  await request(`${gateway.server.baseUrl}/health`);
  process.stdout.write(`${watch.longestMs()} ms  ${name}\n`);
}

describe('the worst requests', () => {
  describe('a body is decoded and stored, or refused:', () => {
    test.each([...worstBodies(BODY_BYTES)].map((one) => [one.name, one] as const))(
      '%s',
      async (name, { signal, body, status }) => {
        await watched(name, async () => {
          expect((await send(PATHS[signal], body)).status).toBe(status);
        });
      },
    );

    test.each([
      ['dense', Buffer.from(`{"resourceSpans":[]}${' '.repeat(60 * MIB)}`), 200],
      ['too large', Buffer.alloc(80 * MIB, ' '), 413],
      ['small', Buffer.from(JSON.stringify({ a: Array(20_000).fill('text') })), 200],
    ])('a gzip body that is %s', async (name, body, status) => {
      const compressed = gzipSync(body);
      await watched(name, async () => {
        expect((await send(PATHS.traces, compressed, 'gzip')).status).toBe(status);
      });
    });
  });

  describe('a route answers', () => {
    const routes = LISTENERS.flatMap((listener) =>
      routesOf(listener).map((route) => [listener, nameOf(route)] as const),
    );

    /** The largest pages, and long texts in filters. */
    const QUERY = `?limit=500&per_page=500&q=${'a'.repeat(200)}`;
    const QUERIES = ['', '?limit=500', '?per_page=500', QUERY];
    /** Lists of findings that read the most of them; a group's findings; and saved views. */
    const FINDING_QUERIES = () => [
      '?state=open&sort=severity&limit=500',
      `?state=all&sort=severity&agent=a&q=${'a '.repeat(100)}`,
      '?state=all&group_by=match&sort=count&limit=500',
      '?state=open&group_by=run&sort=severity&since=9999d',
      `?state=all&same_as=${findingId}`,
    ];
    const isFindingList = (pattern: string) => /\/(risk-)?findings(\/rows)?$/.test(pattern);
    /** A page takes no notice of a parameter that it does not know; a route of the API refuses it. */
    const queriesOf = (pattern: string): readonly string[] =>
      isExhaustive || !pattern.startsWith('/app') ? QUERIES : QUERIES.slice(1, 3);
    /** A step whole, a long text of it with a search marked, a finding's step, and a search. */
    const RUN_QUERIES = () => [
      '',
      '?step=1',
      '?step=1&text=0&from=0&to=65536&q=a',
      `?finding=${findingId}`,
      '?view=texts&page=2',
      '?page=400',
      '?q=a',
      `?q=${'a'.repeat(200)}`,
    ];
    const newPerson = async () => {
      const person = await addPerson(gateway.database, keys.id, 'owner');
      return { person, commandLine: await addCommandLine(gateway.database, keys.id, person) };
    };
    let reader: ReturnType<typeof newPerson>;
    let reads = 0;
    /** A write may end the session that it is called with; a session reads 600 times a minute. */
    const personFor = (method: string) => {
      if (method !== 'GET') return newPerson();
      if (reads % ROUTES_OF_A_READER === 0) reader = newPerson();
      reads += 1;
      return reader;
    };
    /** The largest allowed bodies, of the accepted types. */
    const BODIES = [
      ['application/json', `{"a":${'['.repeat(FORM_BYTES / 2)}${']'.repeat(FORM_BYTES / 2 - 10)}}`],
      ['application/json', `{"name":"${'\\u0001'.repeat(FORM_BYTES / 6)}"}`],
      [
        'application/json',
        `{${Array.from({ length: FORM_BYTES / 10 }, (_, at) => `"${at}":1`).join()}}`,
      ],
      ['application/x-www-form-urlencoded', 'a=%25&'.repeat(FORM_BYTES / 6)],
    ] as const;

    test.each(routes)('%s: %s', async (listener, route) => {
      const [method = '', pattern = ''] = route.split(' ');
      const { server } = gateway;
      const site = {
        PORT: server.baseUrl,
        OBSERVE_PORT: server.observeUrl,
        ADMIN_PORT: new URL(server.metricsUrl).origin,
      }[listener];
      const { person, commandLine } = await personFor(method);
      const ask = async (runId: string, query: string, body?: readonly [string, string]) => {
        const ids: Readonly<Record<string, string>> = {
          runId,
          findingId,
          ruleId: 'ATR-2026-00001',
        };
        const path = pattern.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => ids[name] ?? '1');
        const isCli = pattern.startsWith('/cli/');
        const isApi =
          isCli ||
          pattern.startsWith('/platform/') ||
          pattern.startsWith('/api/') ||
          pattern.startsWith('/v1/');
        const sends = pattern.includes('ingest') || pattern.startsWith('/v1/');
        const key = isCli ? commandLine : sends ? keys.agent : keys.workspace;
        const answer = await new Browser(site, isApi ? null : person.token).send(
          method,
          `${path}${query}`,
          {
            headers: {
              ...(isApi ? { authorization: `Bearer ${key}` } : {}),
              ...(body === undefined ? {} : { 'content-type': body[0] }),
            },
            ...(body === undefined ? {} : { body: body[1] }),
          },
        );
        expect(answer.status, `${path}${query}: ${answer.text.slice(0, 200)}`).toBeLessThan(500);
        const atOnce = Number(answer.headers.get('content-length'));
        expect(atOnce, `${path}${query}`).toBeLessThanOrEqual(ANSWER_BYTES_MAX);
      };
      await watched(route, async () => {
        if (method === 'GET') {
          const isRun = pattern.includes('{runId}');
          const queries = pattern === '/app/runs/{runId}' ? RUN_QUERIES() : [''];
          const pagesOfRuns = runIds.flatMap((runId) =>
            queries.map((query) => [runId, query] as const),
          );
          for (const [runId, query] of isRun ? sampleOf(pagesOfRuns, RUN_PAGES_STEP) : []) {
            await ask(runId, query);
          }
          const others = isFindingList(pattern) ? FINDING_QUERIES() : [];
          const all = [...queriesOf(pattern), ...others];
          for (const query of isRun ? [] : all) await ask('', query);
        } else {
          for (const body of BODIES) await ask('', '', body);
        }
      });
    });
  });
});
