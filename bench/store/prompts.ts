/**
 * Requests as the writer gets them, decoded and encoded by what ingest decodes with: ordinary spans of
 * 1.3 KB, and spans whose prompt is long.
 *
 * Prompts are made words, common ones often and rare ones seldom as in any language, with JSON around
 * them: pglz and lz4 make about half of them, as of prose (docs/decisions/0010-storage.md says how much).
 */

import type { EncodedRequest } from '../../src/db/telemetry/encoded-request.ts';
import { LogRuns } from '../../src/db/telemetry/log-runs.ts';
import { decodeRequest } from '../../src/ingest/request-decoder.ts';
import {
  hex,
  RESOURCE,
  SCOPE,
  START_UNIX_NANO,
  seeded,
  text,
  traceBody,
  whole,
} from '../bodies.ts';

const SPANS_PER_RUN = 10;
const VOCABULARY = 8000;
const SYLLABLES = (
  'ba con de er for gra hi in ja ker lo men nor op pre qua ris sto tion un ver wil xi you zen ' +
  'al be cla dis ex fi gen hol im ket lar mi nal or per que ro sen ter ul vi war ing ly ness'
).split(' ');

function vocabulary(): string[] {
  const random = seeded(77);
  const pick = () => SYLLABLES[Math.floor(random() * SYLLABLES.length)] ?? '';
  return Array.from({ length: VOCABULARY }, (_, rank) =>
    Array.from({ length: 1 + Math.floor(random() * (rank < 100 ? 1.5 : 4)) }, pick).join(''),
  );
}

const words = vocabulary();

/** Text of about so many characters. */
export function prose(random: () => number, characters: number): string {
  const chosen: string[] = [];
  for (let length = 0; length < characters; ) {
    // rank by a power of chance: the first words of the list come far more often than the last
    const word = words[Math.floor(VOCABULARY ** random()) - 1] ?? '';
    const end = random() < 0.08 ? '.\n' : random() < 0.1 ? ', "' : ' ';
    chosen.push(word, end);
    length += word.length + end.length;
  }
  return chosen.join('');
}

function promptSpan(
  random: () => number,
  traceId: string,
  root: string | null,
  characters: number,
) {
  const start = START_UNIX_NANO + BigInt(Math.floor(random() * 1e12)) * 1000n;
  const spanId = hex(random, 16);
  const messages = JSON.stringify([
    { role: 'user', parts: [{ type: 'text', content: prose(random, characters - 700) }] },
  ]);
  const span = {
    traceId,
    spanId,
    ...(root === null ? {} : { parentSpanId: root }),
    name: 'chat gpt-4.1-mini',
    kind: 3,
    startTimeUnixNano: String(start),
    endTimeUnixNano: String(start + 1_000_000_000n),
    attributes: [
      text('gen_ai.operation.name', 'chat'),
      text('gen_ai.provider.name', 'openai'),
      text('gen_ai.request.model', 'gpt-4.1-mini'),
      whole('gen_ai.usage.input_tokens', Math.floor(random() * 4000)),
      text('gen_ai.input.messages', messages),
    ],
    status: { code: 0 },
    flags: 257,
  };
  return { spanId, span };
}

/** One trace export of whole runs whose every span has a prompt of about so many characters. */
export function promptBody(seed: number, spans: number, characters: number): Buffer {
  const random = seeded(seed);
  let traceId = '';
  let root: string | null = null;
  const list = Array.from({ length: spans }, (_, index) => {
    if (index % SPANS_PER_RUN === 0) {
      traceId = hex(random, 32);
      root = null;
    }
    const { spanId, span } = promptSpan(random, traceId, root, characters);
    root ??= spanId;
    return span;
  });
  const scopeSpans = [{ scope: SCOPE, spans: list }];
  return Buffer.from(JSON.stringify({ resourceSpans: [{ resource: RESOURCE, scopeSpans }] }));
}

/** A body's rows, as they go to the writer. */
export function encode(body: Buffer): EncodedRequest {
  const context = { workspaceId: 1, arrivedAtMs: Date.now(), logRuns: new LogRuns() };
  const result = decodeRequest('traces', body, context);
  if (!result.ok) throw new Error('a body of the benchmark is none');
  return result.request.encoded;
}

export interface RowKind {
  readonly name: string;
  readonly rows: number;
  readonly requests: readonly EncodedRequest[];
}

function kind(name: string, bodies: number, spans: number, characters: number | null): RowKind {
  const requests = Array.from({ length: bodies }, (_, index) =>
    encode(
      characters === null ? traceBody(index + 1, spans) : promptBody(index + 1, spans, characters),
    ),
  );
  return { name, rows: bodies * spans, requests };
}

/** Spans of a batch or a few, by the size of their prompts. */
export function rowKinds(): RowKind[] {
  return [
    kind('1.3 KB', 80, 100, null),
    // just below what two rows of a page may take, and just above
    kind('4 KB', 40, 100, 3700),
    kind('6 KB', 30, 100, 6144),
    kind('20 KB', 40, 20, 20_480),
    kind('200 KB', 10, 10, 204_800),
  ];
}

/** Bodies of ordinary spans, one hundred each. */
export function ordinaryBodies(count: number): Buffer[] {
  return Array.from({ length: count }, (_, index) => traceBody(index + 1, 100));
}
