/** Decodes a body the fast way and the plain way and holds the one against the other. */

import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';
import { LogRuns } from '../../src/db/telemetry/log-runs.ts';
import { decodePlainly, type RequestContext } from '../../src/ingest/plain-decoder.ts';
import type { ReadyRequest } from '../../src/ingest/request-checker.ts';
import type { Signal } from '../../src/model/telemetry.ts';
import { decodeRequest, scanOrNull } from '../support/decoding.ts';
import { NOON_MS } from '../support/rows.ts';

export const WORKSPACE = 7;

/** A request of its own: nothing is remembered of the sessions before. */
export function freshContext(workspaceId = WORKSPACE): RequestContext {
  return { workspaceId, arrivedAtMs: NOON_MS, logRuns: new LogRuns() };
}

/** Decodes both ways and compares exactly; @returns whether the fast way took the body. */
export function isTakenAlike(signal: Signal, body: Buffer, workspaceId = WORKSPACE): boolean {
  const context = () => freshContext(workspaceId);
  const before = Buffer.from(body);
  const plain = decodePlainly(signal, body, context());
  const scanned = scanOrNull(signal, body, context());
  if (scanned !== null && !isDeepStrictEqual(scanned, plain)) {
    expect(scanned).toEqual(plain);
    expect.unreachable('the two differ');
  }
  // Not by matchers: they would take as long as the decoders of small bodies.
  if (!body.equals(before)) expect.unreachable('the body was changed');
  if (scanned === null && !isDeepStrictEqual(decodeRequest(signal, body, context()), plain)) {
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
