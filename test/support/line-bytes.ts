/** The bytes of a line, for tests. */
import type { Line } from '../../src/otlp/lines/lines.ts';

/** @throws when the line's length is not that of its parts */
export function lineBytes({ parts, bytes }: Line): Buffer {
  const whole = Buffer.concat(parts);
  if (whole.length !== bytes) throw new Error(`a line of ${whole.length} bytes says ${bytes}`);
  return whole;
}
