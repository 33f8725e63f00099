/** Requests that are decoded in turn with each other, on one thread. */
import { describe, expect, test } from 'vitest';

import type { EncodedRequest } from '../../src/db/telemetry/encoded-request.ts';
import type { Receipt } from '../../src/db/telemetry/receipts.ts';
import {
  Ingest,
  type IngestResult,
  type IngestSettings,
  PLAIN_BYTES_MAX,
  type RequestSource,
  type StoredAnswer,
} from '../../src/ingest/ingest.ts';
import type { Hex16 } from '../../src/model/json.ts';
import { type Pieces, toEnd } from '../../src/otlp/pieces.ts';
import { lineBytes } from '../support/decoding.ts';
import { hex16, NOON_MS } from '../support/rows.ts';
import { decodeProcessesOf } from './decode-processes.ts';

/**
 * An ingest whose writer collects what is offered.
 *
 * @param stored the receipt that it finds for every body
 */
function collecting(stored: Receipt | null = null, settings: IngestSettings = {}) {
  const offered: EncodedRequest[] = [];
  const offer = async (request: EncodedRequest, receipt: Receipt | null = null) => {
    offered.push(request);
    return { isResend: false, receipt };
  };
  const found: Hex16[] = [];
  const find = async (_request: unknown, bodyHash: Hex16): Promise<Receipt | null> => {
    found.push(bodyHash);
    return stored;
  };
  return { ingest: new Ingest({ offer, find }, () => NOON_MS, settings), offered, found };
}

const sourceOf = (workspaceId: number): RequestSource => ({
  workspaceId,
  whenUnawaited: () => {},
  redact: null,
});

async function storeIt(result: IngestResult | Promise<IngestResult>): Promise<StoredAnswer> {
  const settled = await result;
  if (!settled.ok) throw new Error(settled.message);
  return await settled.request.store();
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

test('two requests decoded in turn, piece by piece, give what each gives alone', async () => {
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

  const textsOf = ({ offered }: { offered: EncodedRequest[] }) =>
    offered.map(({ lines, ...others }) => ({
      ...others,
      lines: lines.map((line) => lineBytes(line).toString()),
    }));
  expect(textsOf(beside)).toEqual(textsOf(alone));
});

describe('a body for another process', () => {
  const BODY = Buffer.from(`{"resourceSpans":[{"\\u0041":"${'x'.repeat(PLAIN_BYTES_MAX)}"}]}`);
  const SOURCE = sourceOf(1);

  test.each([
    [null, '{}'],
    ['{"partialSuccess":{"rejectedSpans":"1"}}', '{"partialSuccess":{"rejectedSpans":"1"}}'],
  ])('that is stored already is answered as before and not decoded: %j', async (answer, body) => {
    const { ingest, offered } = collecting({ bodyHash: hex16(1), answer });
    const stored = await storeIt(toEnd(ingest.decode('traces', BODY, SOURCE)));
    expect(stored).toEqual({ isResend: true, body });
    expect([offered, decodeProcessesOf(process.pid)]).toEqual([[], []]);
    await ingest.close();
  });

  test('that is not stored yet is decoded', async () => {
    const { ingest, found } = collecting();
    const stored = await storeIt(toEnd(ingest.decode('traces', BODY, SOURCE)));
    expect(stored.isResend).toBe(false);
    expect(found).toHaveLength(1);
    await ingest.close();
  });

  test('is not looked up where its sender, or the operator, wants it stored again', async () => {
    for (const deduplicates of [true, false]) {
      const { ingest, found } = collecting(null, { deduplicates });
      await storeIt(toEnd(ingest.decode('traces', BODY, SOURCE, !deduplicates)));
      expect(found).toEqual([]);
      await ingest.close();
    }
  });

  test('is looked up only if it is one: a small body is decoded first', async () => {
    const { ingest, found } = collecting({ bodyHash: hex16(1), answer: null });
    expect(await storeIt(toEnd(ingest.decode('traces', bodyOf(1, 1), SOURCE)))).toMatchObject({
      isResend: false,
    });
    expect(found).toEqual([]);
    await ingest.close();
  });
});
