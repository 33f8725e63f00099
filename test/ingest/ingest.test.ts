/** Requests that are decoded in turn with each other, on one thread. */
import { expect, test } from 'vitest';

import type { EncodedRequest } from '../../src/db/telemetry/encoded-request.ts';
import type { Receipt } from '../../src/db/telemetry/receipts.ts';
import { Ingest, type IngestResult, type RequestSource } from '../../src/ingest/ingest.ts';
import type { Pieces } from '../../src/otlp/pieces.ts';

/** An ingest whose writer collects what is offered. */
function collecting(): { ingest: Ingest; offered: EncodedRequest[] } {
  const offered: EncodedRequest[] = [];
  const offer = async (request: EncodedRequest, receipt: Receipt | null = null) => {
    offered.push(request);
    return { isResend: false, receipt };
  };
  return { ingest: new Ingest({ offer }, () => 1_700_000_000_000), offered };
}

const sourceOf = (workspaceId: number): RequestSource => ({
  workspaceId,
  whenUnawaited: () => {},
});

async function storeIt(result: IngestResult | Promise<IngestResult>): Promise<void> {
  const settled = await result;
  if (!settled.ok) throw new Error(settled.message);
  await settled.request.store();
}

/** Spans of one trace: bodies that are decoded in several pieces. */
function bodyOf(trace: number, count: number): Buffer {
  const spans = Array.from({ length: count }, (_, index) => ({
    traceId: String(trace).padStart(32, 'a'),
    spanId: String(index + 1).padStart(16, '0'),
    name: `span ${index}`,
    startTimeUnixNano: '5',
    endTimeUnixNano: '6',
    attributes: [{ key: 'text', value: { stringValue: 'x'.repeat(2000) } }],
  }));
  return Buffer.from(JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans }] }] }));
}

test('two requests decoded in turn, piece by piece, give the rows that each gives alone', async () => {
  const bodies = [bodyOf(1, 400), bodyOf(2, 300), bodyOf(3, 1)];
  const alone = collecting();
  for (const [workspaceId, body] of bodies.entries()) {
    const pieces = alone.ingest.decode('traces', body, sourceOf(workspaceId));
    let piece = pieces.next();
    while (!piece.done) piece = pieces.next();
    await storeIt(piece.value);
  }

  const beside = collecting();
  const running: (Pieces<IngestResult | Promise<IngestResult>> | null)[] = bodies.map(
    (body, workspaceId) => beside.ingest.decode('traces', body, sourceOf(workspaceId)),
  );
  const results: (IngestResult | Promise<IngestResult>)[] = [];
  let rounds = 0;
  while (running.some((pieces) => pieces !== null)) {
    rounds += 1;
    for (const [index, pieces] of running.entries()) {
      const piece = pieces?.next();
      if (piece?.done !== true) continue;
      results[index] = piece.value;
      running[index] = null;
    }
  }
  expect(rounds).toBeGreaterThan(2);
  for (const result of results) await storeIt(result);

  const rowsOf = ({ offered }: { offered: EncodedRequest[] }) =>
    offered.map(({ workspaceId, rows, chunks, runs }) => {
      const bytes = [...chunks].map(([table, chunk]) => [table, chunk.toString('latin1')]);
      return { workspaceId, rows, bytes, runs };
    });
  expect(rowsOf(beside)).toEqual(rowsOf(alone));
});
