/** Owns the scanning of one log record; the rules are those of `../logs.ts`. */

import { copyAnyValue } from './attribute-scanner.ts';
import { FieldTable } from './field-table.ts';
import { scanId, scanTraceId } from './id-scanner.ts';
import { scanTime, scanUint } from './number-scanner.ts';
import type { ScannedLog } from './scanned-rows.ts';
import type { Scanner } from './scanner.ts';
import { once, reserveRow, scanAttributes, scanText } from './span-scanner.ts';

const SEVERITY_MAX = 24;
const UINT32_MAX = 0xffffffff;

const LOG_RECORD = new FieldTable([
  'timeUnixNano',
  'observedTimeUnixNano',
  'severityNumber',
  'severityText',
  'eventName',
  'flags',
  'droppedAttributesCount',
  'attributes',
  'body',
  'traceId',
  'spanId',
]);

/** Reads one log record into `log`. */
export function scanLog(scanner: Scanner, log: ScannedLog): void {
  log.reset();
  reserveRow(scanner);
  let seen = 0;
  for (
    let field = scanner.firstField(LOG_RECORD);
    field >= 0;
    field = scanner.nextField(LOG_RECORD)
  ) {
    seen = once(seen, field);
    scanField(scanner, log, field);
  }
}

function scanField(scanner: Scanner, log: ScannedLog, field: number): void {
  switch (field) {
    case 0:
      scanTime(scanner);
      log.timeSeconds = scanner.seconds;
      log.timeNanos = scanner.nanos;
      break;
    case 1:
      scanTime(scanner);
      log.observedSeconds = scanner.seconds;
      log.observedNanos = scanner.nanos;
      break;
    case 2:
      log.severityNumber = scanUint(scanner, SEVERITY_MAX);
      break;
    case 3:
      scanText(scanner, log.severityText);
      break;
    case 4:
      scanText(scanner, log.eventName);
      break;
    case 5:
      log.flags = scanUint(scanner, UINT32_MAX);
      break;
    case 6:
      log.droppedAttributes = scanUint(scanner, UINT32_MAX);
      break;
    case 7:
      scanAttributes(scanner, log.attributes);
      break;
    case 8:
      scanBody(scanner, log);
      break;
    case 9:
      log.hasTraceId = scanTraceId(scanner, log.ids);
      break;
    default:
      log.hasSpanId = scanId(scanner, log.ids, 16, 8);
  }
}

/** A body that is there but empty is JSON's null, one that is not there no JSON at all. */
function scanBody(scanner: Scanner, log: ScannedLog): void {
  if (scanner.isNull()) return;
  log.body.start = scanner.arena.end;
  copyAnyValue(scanner);
  log.body.end = scanner.arena.end;
}
