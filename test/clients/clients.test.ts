/**
 * Every client of the list, in the version that is installed in this folder: its conversation with a
 * stub of its provider, exported to a running Sluice as its page in docs/send says, must be read on the
 * right surfaces, and what it leaves out must be shown. The results are kept in results.json.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { Surface } from '../../src/model/steps.ts';
import { type Gateway, openGateway, read } from '../e2e/gateway.ts';
import { extractSurfaces } from '../engine/surfaces/extract-surfaces.ts';
import { startRelay } from '../support/server.ts';
import { readSteps } from '../support/stored-runs.ts';
import { waitFor } from '../support/wait-for.ts';
import type { Client } from './client.ts';
import { CLIENTS } from './clients.ts';
import { type Outcome, outcomeOf } from './outcome.ts';
import { type Provider, startProvider } from './provider/provider.ts';
import { keepResult } from './results.ts';
import { folderOf, runClient, versionOf } from './run-client.ts';

const EVALUATED_WITHIN_MS = 60_000;
/** Runs of clients that send no traces end by themselves only after this long. */
const RUN_TIMEOUT_MS = 4000;
const RULE = 'ATR-2026-00511';

interface RunItem {
  readonly id: string;
  readonly name: string;
  readonly evaluation: string;
  readonly checked: string;
  readonly text_gaps: readonly string[];
}

let gateway: Gateway;
let provider: Provider;
beforeAll(async () => {
  gateway = await openGateway({ RUN_TIMEOUT_MS: String(RUN_TIMEOUT_MS) });
  provider = await startProvider();
});
afterAll(async () => {
  await provider?.close();
  await gateway?.close();
});

/** Runs a client in a workspace of its own, and reads what came of it. */
async function converse(client: Client, isWithheld = false): Promise<Outcome> {
  const workspace = await gateway.addWorkspace(`client-${crypto.randomUUID().slice(0, 8)}`);
  const { observeUrl, baseUrl } = gateway.server;
  const from = provider.requests.length;
  const { agent: agentKey } = workspace;
  const queue = mkdtempSync(join(tmpdir(), 'sluice-client-relay-'));
  const relay = client.isRelayed
    ? await startRelay(['--queue-dir', queue], { SLUICE_URL: observeUrl, SLUICE_API_KEY: agentKey })
    : null;
  const relayUrl = relay?.url ?? null;
  try {
    const place = { observeUrl, relayUrl, agentKey, providerUrl: provider.url };
    await runClient(client, place, isWithheld);
  } finally {
    await relay?.end('SIGTERM');
    rmSync(queue, { recursive: true });
  }
  const requests = provider.requests.slice(from);
  expect(requests.length, 'requests to the provider').toBeGreaterThan(1);
  const url = `${baseUrl}/platform/v1/runs`;
  await waitFor(
    async () => {
      const { rows } = await gateway.database.query<{ runs: number; pending: number }>(
        `SELECT count(*)::int AS runs,
                count(*) FILTER (WHERE evaluation = 'pending')::int AS pending
           FROM runs WHERE workspace_id = $1`,
        [workspace.id],
      );
      return rows[0]?.pending === 0 && rows[0].runs > 0;
    },
    { withinMs: EVALUATED_WITHIN_MS, what: () => `runs are evaluated; requests: ${requests}` },
  );
  const { runs } = await read<{ runs: RunItem[] }>(url, workspace.workspace);
  const texts: { surface: Surface; text: string }[] = [];
  const evidence: object[][] = [];
  for (const { id: runId } of runs) {
    const { rows } = await gateway.database.query<{ first: string; last: string }>(
      `SELECT first_arrival_at::date::text AS first, last_arrival_at::date::text AS last
         FROM runs WHERE workspace_id = $1 AND run_id = $2`,
      [workspace.id, runId],
    );
    const { first = '', last = '' } = rows[0] ?? {};
    const range = { firstArrivalOn: first, lastArrivalOn: last };
    const { steps } = await readSteps(gateway.database, {
      workspaceId: workspace.id,
      runId,
      ...range,
    });
    const own = extractSurfaces(steps).texts;
    texts.push(...own);
    evidence.push(
      steps.map(({ name, attributes, events, body }, index) => ({
        run: runId,
        name,
        read: own.filter(({ step }) => step === index).map(({ surface, text }) => [surface, text]),
        attributes,
        events,
        body,
      })),
    );
  }
  // What a person looks at when a client fails; not kept.
  const file = join(folderOf(client, isWithheld), 'read.json');
  writeFileSync(file, JSON.stringify({ runs, steps: evidence.flat() }, null, 1));
  const outcome = outcomeOf(
    runs.map(({ name, checked, text_gaps: gaps }) => ({ name, checked, gaps })),
    texts,
    client.echoesCommand,
  );
  if (Object.values(outcome.surfaces).flat().length > 0) {
    const { findings } = await read<{ findings: unknown[] }>(
      `${baseUrl}/platform/v1/risk-findings?rule_id=${RULE}`,
      workspace.workspace,
    );
    expect(findings, 'findings of the planted attack').not.toEqual([]);
  }
  return outcome;
}

describe.each(CLIENTS)('$name', (client) => {
  test('is read on the right surfaces, and what it leaves out is shown', async () => {
    const sent = await converse(client);
    const off = client.withheld === undefined ? undefined : await converse(client, true);
    keepResult(client.name, versionOf(client.package), sent, off);
    expect(sent.wrong).toEqual([]);
    if (sent.missing.length > 0) expect(sent.shown, `missing: ${sent.missing}`).toBe(true);
    if (off !== undefined) expect([off.wrong, off.shown]).toEqual([[], true]);
  });
});
