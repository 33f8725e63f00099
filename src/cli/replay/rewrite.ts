/**
 * Makes another run of stored OTLP/JSON: new ids, and times shifted to now. Pure; replaces in the
 * text, so that everything else stays as it was, numbers beyond the exact ones of JavaScript too.
 *
 * A member name of a text inside a text is not touched: its quotes have a backslash before them.
 */
import { createHash } from 'node:crypto';

const TIMES =
  /"((?:start|end|observed)?[tT]imeUnixNano)"(\s*:\s*)(?:"(\d{1,20})"|(\d{1,20})(?=\s*[,}]))/g;
const IDS = /"(traceId|spanId|parentSpanId)"(\s*:\s*)"([0-9a-fA-F]{16}|[0-9a-fA-F]{32})"/g;
const UNSET = /^0+$/;

/** The latest time in a body, in nanoseconds since 1970; 0n without one. */
export function latestTime(text: string): bigint {
  let latest = 0n;
  for (const [, , , quoted, bare] of text.matchAll(TIMES)) {
    const time = BigInt(quoted ?? bare ?? 0);
    if (time > latest) latest = time;
  }
  return latest;
}

/** Moves every time by as much; a time that is not set (0) stays so. */
export function shiftTimes(text: string, byNanos: bigint): string {
  return text.replace(
    TIMES,
    (whole, name: string, colon: string, quoted?: string, bare?: string) => {
      const time = BigInt(quoted ?? bare ?? 0);
      if (time === 0n) return whole;
      const moved = time + byNanos;
      return `"${name}"${colon}"${moved < 0n ? 0n : moved}"`;
    },
  );
}

/**
 * Replaces the ids of traces and spans: equal ids stay equal, so that trees, links and logs still
 * belong together.
 *
 * @param salt another one gives other ids
 */
export function replaceIds(text: string, salt: string): string {
  return text.replace(IDS, (whole, name: string, colon: string, id: string) => {
    if (UNSET.test(id)) return whole;
    const digest = createHash('sha256').update(`${salt}:${id.toLowerCase()}`).digest('hex');
    return `"${name}"${colon}"${digest.slice(0, id.length)}"`;
  });
}
