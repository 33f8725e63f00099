/** Decodes a body the fast way and the plain way and holds the one against the other. */

import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';
import { LogRuns } from '../../src/db/telemetry/log-runs.ts';
import type { ReadyResult, RequestContext } from '../../src/ingest/plain-encoder.ts';
import type { ReadyRequest } from '../../src/ingest/row-encoder.ts';
import type { Signal } from '../../src/model/telemetry.ts';
import { decodePlainly, decodeRequest, scanOrNull } from '../support/decoding.ts';
import { NOON_MS } from '../support/rows.ts';

export const WORKSPACE = 7;

/** A request of its own: nothing is remembered of the sessions before. */
export function freshContext(workspaceId = WORKSPACE): RequestContext {
  return { workspaceId, arrivedAtMs: NOON_MS, logRuns: new LogRuns() };
}

/** What a decoder says, without the way its memory is given back: that is the fast way's own affair. */
function saidBy(result: ReadyResult): unknown {
  if (!result.ok) return result;
  const { release: _, ...encoded } = result.request.encoded;
  return { ...result, request: { ...result.request, encoded } };
}

/** Decodes both ways and compares exactly; @returns whether the fast way took the body. */
export function isTakenAlike(signal: Signal, body: Buffer, workspaceId = WORKSPACE): boolean {
  const context = () => freshContext(workspaceId);
  const before = Buffer.from(body);
  const plain = saidBy(decodePlainly(signal, body, context()));
  const scanned = scanOrNull(signal, body, context());
  if (scanned !== null && !isDeepStrictEqual(saidBy(scanned), plain)) {
    expect(saidBy(scanned)).toEqual(plain);
    expect.unreachable('the two differ');
  }
  // Not by matchers: they would take as long as the decoders of small bodies.
  if (!body.equals(before)) expect.unreachable('the body was changed');
  if (
    scanned === null &&
    !isDeepStrictEqual(saidBy(decodeRequest(signal, body, context())), plain)
  ) {
    expect.unreachable('a body that is left to the plain way is decoded in another way');
  }
  return scanned !== null;
}

/** The request as the fast way reads it. */
export function scanned(signal: Signal, body: Buffer, workspaceId = WORKSPACE): ReadyRequest {
  const result = scanOrNull(signal, body, freshContext(workspaceId));
  if (result === null || !result.ok) throw new Error('the body was left to the plain way');
  return result.request;
}
