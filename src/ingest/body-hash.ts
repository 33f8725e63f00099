/**
 * The hash by which a request that is sent again is recognised: 128 bits of its path and its
 * decompressed body, so that a body is the same with and without compression.
 *
 * It guards against chance, not against a sender, who can only mistake its own requests for each
 * other (docs/decisions/0007-stored-once.md). So it is the cheapest of `node:crypto` that is sure
 * enough: AES-GMAC, at four to six times the rate of SHA-256, which starts faster and is therefore
 * used for short bodies.
 */
import { createCipheriv, hash } from 'node:crypto';

import type { Hex16 } from '../model/json.ts';
import type { Signal } from '../model/telemetry.ts';
import type { Pieces } from '../otlp/pieces.ts';

const HASH_DIGITS = 32;
/** GMAC's fixed cost equals four kilobytes of SHA-256; measured with Node 20.20. */
const SHORT_BYTES_MAX = 4 * 1024;
/** Hashed between two pauses: less than a millisecond, some without the processor's AES. */
const HASHED_BYTES = 1024 * 1024;
/** Any value, the same for all processes of a database. */
const KEY = Buffer.from('5c1e7b0d92a64f38b1d07c6e4a93f525', 'hex');
const NONCE = Buffer.alloc(12);
/** The path, in place of the first digit. */
const DIGITS: Readonly<Record<Signal, string>> = { traces: '1', metrics: '2', logs: '3' };

/** @param body decompressed */
export function* hashBody(signal: Signal, body: Buffer): Pieces<Hex16> {
  const digits = body.length <= SHORT_BYTES_MAX ? hash('sha256', body) : yield* gmac(body);
  return `${DIGITS[signal]}${digits.slice(1, HASH_DIGITS)}`;
}

function* gmac(body: Buffer): Pieces<string> {
  const mac = createCipheriv('aes-128-gcm', KEY, NONCE);
  for (let at = 0; at < body.length; at += HASHED_BYTES) {
    if (at > 0) yield;
    mac.setAAD(body.subarray(at, at + HASHED_BYTES));
  }
  mac.final();
  return mac.getAuthTag().toString('hex');
}
