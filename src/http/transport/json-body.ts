/** Request bodies outside ingest: small JSON or forms, checked with zod; all faults make one 400. */
import type { z } from 'zod';

import { SluiceError } from '../../errors.ts';
import type { BodyLimits, Exchange } from './exchange.ts';
import { InvalidInput, parseInput } from './invalid-input.ts';

/** Far above what a person types. */
const LIMITS: BodyLimits = { bytesMax: 16 * 1024, deadlineMs: 10_000, reserve: () => true };
const JSON_TYPE = /^application\/json *(;|$)/i;
const FORM_TYPE = /^application\/x-www-form-urlencoded *(;|$)/i;

async function readText(exchange: Exchange, type: RegExp, takes: string): Promise<string> {
  // A page of another site can send JSON only after a CORS preflight, which is never granted.
  if (!type.test(exchange.contentType)) {
    throw new SluiceError('unsupported_type', `Send ${takes}.`);
  }
  if (exchange.contentEncoding !== '' && exchange.contentEncoding !== 'identity') {
    throw new SluiceError('unsupported_encoding', 'Compressed bodies are not accepted here.');
  }
  const body = await exchange.readBody(LIMITS);
  return body === null ? '' : body.toString('utf8');
}

export async function readJson<Shape extends z.ZodType>(
  exchange: Exchange,
  schema: Shape,
): Promise<z.infer<Shape>> {
  const text = await readText(exchange, JSON_TYPE, 'application/json');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new InvalidInput('bad_body', [{ path: '', message: 'is not valid JSON' }]);
  }
  return parseInput(schema, value, 'bad_body');
}

/** Of a repeated field the last counts. */
export async function readForm<Shape extends z.ZodType>(
  exchange: Exchange,
  schema: Shape,
): Promise<z.infer<Shape>> {
  const text = await readText(exchange, FORM_TYPE, 'application/x-www-form-urlencoded');
  return parseInput(schema, Object.fromEntries(new URLSearchParams(text)), 'bad_body');
}
