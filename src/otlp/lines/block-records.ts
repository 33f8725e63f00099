/**
 * Finds spans or log records in the text of a block (`src/db/telemetry/blocks.ts`) by their numbers. Records
 * that are not wanted are skipped byte by byte, without parsing them.
 *
 *   block:  line 0 \n line 1 \n …        number: from 0, over all lines
 */
import type { JsonObject } from '../../model/json.ts';
import type { RecordRanges } from '../../model/record-ranges.ts';
import type { Signal } from '../../model/telemetry.ts';
import { isObject } from '../fields.ts';
import { parseJson } from '../json.ts';
import type { Pieces } from '../pieces.ts';
import { type FoundRecord, type Frame, type ReadRecord, RecordFinder } from './record-finder.ts';

const LINE_FEED = 0x0a;

/** The resource and scope of records. */
export interface RecordOrigin {
  /** the entry of `resourceSpans` or `resourceLogs`, with an empty list of scopes */
  readonly resource: JsonObject;
  /** the entry of `scopeSpans` or `scopeLogs`, with an empty list of records */
  readonly scope: JsonObject;
  /** the text of both up to their lists */
  readonly head: Buffer;
}

export interface BlockRecord {
  readonly ordinal: number;
  /** its JSON text; shares memory with the block */
  readonly bytes: Buffer;
  /** shared by records with equal heads in a row */
  readonly origin: RecordOrigin;
  readonly frame: Frame;
}

/**
 * Finds records with their positions in the text and the frames that enclose them, from which lines can
 * be made again (`cutLines`).
 *
 * @param text lines, each with a line feed at its end
 * @param wanted numbers that the text does not have are ignored
 * @param read as for `RecordFinder`
 * @throws {RangeError} when the text is not valid
 */
export function* findRecords<V = null>(
  signal: Signal,
  text: Buffer,
  wanted: RecordRanges,
  read: ReadRecord<V> | null = null,
): Pieces<readonly FoundRecord<V>[]> {
  const finder = new RecordFinder(signal, text, { items: new Ordinals(wanted) }, read);
  const end = wanted.at(-1) ?? 0;
  const found: FoundRecord<V>[] = [];
  for (let at = 0; at < text.length && finder.item < end; ) {
    for (const record of yield* finder.find(at)) found.push(record);
    const lineEnd = text.indexOf(LINE_FEED, at);
    at = lineEnd < 0 ? text.length : lineEnd + 1;
  }
  return found;
}

/**
 * Finds records with their texts and origins.
 *
 * @param text lines, each with a line feed at its end
 * @param wanted numbers that the text does not have are ignored
 * @throws {RangeError} when the text is not valid
 */
export function* recordsOf(
  signal: Signal,
  text: Buffer,
  wanted: RecordRanges,
): Pieces<readonly BlockRecord[]> {
  const found = yield* findRecords(signal, text, wanted);
  const origins = new Origins();
  return found.map(({ item, frame, start, end }) => ({
    ordinal: item,
    bytes: text.subarray(start, end),
    origin: origins.of(frame),
    frame,
  }));
}

/** Checks numbers. They rise, unless a member of an object comes twice: the last one counts. */
class Ordinals {
  readonly #ranges: RecordRanges;
  /** index of the range that was checked last */
  #at = 0;

  constructor(ranges: RecordRanges) {
    this.#ranges = ranges;
  }

  has(number: number): boolean {
    const ranges = this.#ranges;
    if (number < (ranges[this.#at] ?? Number.POSITIVE_INFINITY)) this.#at = 0;
    while (number >= (ranges[this.#at + 1] ?? Number.POSITIVE_INFINITY)) this.#at += 2;
    return number >= (ranges[this.#at] ?? Number.POSITIVE_INFINITY);
  }
}

class Origins {
  #frame: Frame | null = null;
  #last: RecordOrigin | null = null;

  of(scope: Frame): RecordOrigin {
    if (scope === this.#frame && this.#last !== null) return this.#last;
    const resource = scope.parent ?? scope;
    const head = Buffer.concat([resource.head, scope.head]);
    this.#frame = scope;
    if (this.#last?.head.equals(head) !== true) {
      this.#last = { resource: parseHead(resource), scope: parseHead(scope), head };
    }
    return this.#last as RecordOrigin;
  }
}

function parseHead({ head, tail }: Frame): JsonObject {
  const parsed = parseJson(Buffer.concat([head, Buffer.from(tail)]));
  return parsed.ok && isObject(parsed.value) ? parsed.value : {};
}
