/** Request bodies outside ingest: small JSON or forms, checked with zod; all faults make one 400. */
import type { z } from 'zod';

import { SluiceError } from '../../errors.ts';
import type { Answer, BodyLimits, Exchange } from './exchange.ts';
import { problem, type QueryFault } from './problem.ts';

/** Far above what a person types. */
const LIMITS: BodyLimits = { bytesMax: 16 * 1024, deadlineMs: 10_000, reserve: () => true };
const JSON_TYPE = /^application\/json *(;|$)/i;
const FORM_TYPE = /^application\/x-www-form-urlencoded *(;|$)/i;

/** A body that does not match its schema, with every fault. */
export class BadBody extends SluiceError {
  readonly faults: readonly QueryFault[];
  constructor(faults: readonly QueryFault[]) {
    super('bad_body', 'The body does not have the form that is needed here.');
    this.faults = faults;
  }
}

export function badBodyAnswer(error: BadBody): Answer {
  return problem(error, {
    errors: error.faults.map(({ path, message }) => ({ path, message })),
  });
}

function checked<Shape extends z.ZodType>(schema: Shape, value: unknown): z.infer<Shape> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new BadBody(
    result.error.issues.map(({ path, message }) => ({ path: path.join('.'), message })),
  );
}

async function readText(exchange: Exchange, type: RegExp, takes: string): Promise<string> {
  // A page of another site can send JSON only after a CORS preflight, which is never granted.
  if (!type.test(exchange.contentType)) {
    throw new SluiceError('unsupported_type', `This takes ${takes}.`);
  }
  if (exchange.contentEncoding !== '' && exchange.contentEncoding !== 'identity') {
    throw new SluiceError('unsupported_encoding', 'This takes no compressed bodies.');
  }
  const body = await exchange.readBody(LIMITS);
  return body === null ? '' : body.toString('utf8');
}

/**
 * Reads a JSON body.
 *
 * @throws {BadBody} with every fault
 * @throws {SluiceError} `unsupported_type`, `unsupported_encoding`, `body_too_large`, `body_timeout`
 */
export async function readJson<Shape extends z.ZodType>(
  exchange: Exchange,
  schema: Shape,
): Promise<z.infer<Shape>> {
  const text = await readText(exchange, JSON_TYPE, 'application/json');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new BadBody([{ path: '', message: 'is not JSON' }]);
  }
  return checked(schema, value);
}

/**
 * Reads the fields of an HTML form; of a repeated one the last counts.
 *
 * @throws as `readJson`
 */
export async function readForm<Shape extends z.ZodType>(
  exchange: Exchange,
  schema: Shape,
): Promise<z.infer<Shape>> {
  const text = await readText(exchange, FORM_TYPE, 'application/x-www-form-urlencoded');
  return checked(schema, Object.fromEntries(new URLSearchParams(text)));
}
