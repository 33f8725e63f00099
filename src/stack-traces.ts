/**
 * Makes stack traces of the built program name files and lines of `src/`. Imported first by everything
 * that is started by its path (`PROGRAMS` in `bin/build.js`); does nothing where sources run.
 *
 * A source map is read when the first stack trace of its file is wanted: reading all of them at the start,
 * as `--enable-source-maps` does, costs every command, and Node.js takes 90 ms to decode the largest one
 * (Node 20.20, 2026-11-26), in one turn of the event loop. Here it takes 6 ms.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** From `dist/chunks/`. */
const BUILT = new URL('../', import.meta.url).href;
/** The digits of a mapping: https://tc39.es/ecma426/#sec-base64-vlq */
const DIGITS = new Uint8Array(128);
for (const [value, digit] of [
  ...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/',
].entries()) {
  DIGITS[digit.charCodeAt(0)] = value;
}
const COMMA = 0x2c;
const SEMICOLON = 0x3b;
/** The fields of a segment that are used; a fifth names an identifier. */
const COLUMN = 0;
const SOURCE = 1;
const LINE = 2;
const SOURCE_COLUMN = 3;

interface SourceMap {
  readonly sources: readonly string[];
  readonly mappings: string;
}

/**
 * Finds where a position came from. Fields are differences from the last segment, so everything before
 * the position is decoded.
 *
 * @param line from 1, as in a stack trace
 * @param column from 1
 * @returns `src/…:line:column`; null where the map has nothing
 */
export function originOf(
  { sources, mappings }: SourceMap,
  line: number,
  column: number,
): string | null {
  const fields = [0, 0, 0, 0, 0];
  let found: string | null = null;
  let builtLine = 1;
  let field = 0;
  let [value, shift] = [0, 0];
  for (let at = 0; at <= mappings.length; at += 1) {
    const code = at < mappings.length ? mappings.charCodeAt(at) : SEMICOLON;
    if (code !== COMMA && code !== SEMICOLON) {
      const digit = DIGITS[code] ?? 0;
      value |= (digit & 31) << shift;
      shift += 5;
      if ((digit & 32) !== 0) continue;
      fields[field] = (fields[field] ?? 0) + (value & 1 ? -(value >> 1) : value >> 1);
      field += 1;
      [value, shift] = [0, 0];
      continue;
    }
    if (builtLine === line && field > SOURCE_COLUMN) {
      if ((fields[COLUMN] ?? 0) >= column) return found;
      const path = /\bsrc\/.*/.exec(sources[fields[SOURCE] ?? 0] ?? '')?.[0];
      found =
        path === undefined
          ? null
          : `${path}:${(fields[LINE] ?? 0) + 1}:${(fields[SOURCE_COLUMN] ?? 0) + 1}`;
    }
    field = 0;
    if (code === COMMA) continue;
    if (builtLine === line) return found;
    builtLine += 1;
    fields[COLUMN] = 0;
  }
  return null;
}

/** By file; at most those of `dist/`. */
const maps = new Map<string, SourceMap | null>();

function mapOf(file: string): SourceMap | null {
  let map = maps.get(file);
  if (map === undefined) {
    try {
      map = JSON.parse(readFileSync(fileURLToPath(`${file}.map`), 'utf8')) as SourceMap;
    } catch {
      // Without its map a trace names the built file.
      map = null;
    }
    maps.set(file, map);
  }
  return map;
}

/** One line of a stack trace, as V8 writes it but for the place. */
function frameText(frame: NodeJS.CallSite): string {
  const text = String(frame);
  const file = frame.getFileName();
  const [line, column] = [frame.getLineNumber(), frame.getColumnNumber()];
  if (!file?.startsWith(BUILT) || line === null || column === null) return text;
  const map = mapOf(file);
  const origin = map === null ? null : originOf(map, line, column);
  return origin === null ? text : text.replace(`${file}:${line}:${column}`, () => origin);
}

function headOf(error: Error): string {
  try {
    return Error.prototype.toString.call(error);
  } catch {
    return 'Error';
  }
}

if (import.meta.url.endsWith('.js')) {
  Error.prepareStackTrace = (error, frames) =>
    [headOf(error), ...frames.map((frame) => `    at ${frameText(frame)}`)].join('\n');
}
