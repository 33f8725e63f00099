/** How long the redaction of a body takes, as a share of parsing it, in CPU time of one run. Only prints. */
import { createRedactor } from '../../src/engine/redaction/redactor.ts';
import { LIBRARY } from '../../src/model/redaction/redaction.ts';
import { toEnd } from '../../src/otlp/pieces.ts';
import { traceBody } from '../bodies.ts';
import { log } from '../harness.ts';
import { logBody, metricBody } from '../signal-bodies.ts';

const RECORDS = 500;
const ROUNDS = 30;
const PATTERNS = 10;

/** Least CPU time of a round, in microseconds of each record. */
function microsPerRecord(work: () => void): number {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round += 1) {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, user + system);
  }
  return least / RECORDS;
}

export function redactionRows(): void {
  const library = LIBRARY.slice(-PATTERNS).map(({ name }) => name);
  const redact = createRedactor({ library, patterns: [] }, Buffer.alloc(32));
  const traces = traceBody(1, RECORDS);
  const withHits = traces.toString().replaceAll('Please answer', 'Mail ada@example.com');
  const bodies = [
    ['spans', traces],
    ['log records', logBody(1, RECORDS)],
    ['data points', metricBody(1, RECORDS)],
    ['spans, two e-mail addresses in each', Buffer.from(withHits)],
  ] as const;
  for (const [name, body] of bodies) {
    const parsing = microsPerRecord(() => JSON.parse(body.toString()));
    const redacting = microsPerRecord(() => toEnd(redact(body)));
    const share = (redacting / parsing).toFixed(2);
    log(`redaction, ${name}: ${redacting.toFixed(2)} µs each, ${share} of JSON.parse`);
  }
}
