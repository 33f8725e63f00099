/** Scans one log record, by the rules of `../logs.ts`. */

import { LOG_COLUMNS } from '../../model/columns.ts';
import type { AttributeScanner } from './attribute-scanner.ts';
import { RowLayout, RowMembers } from './row-layout.ts';
import { markSeen, scanMember, startRow } from './row-scanner.ts';
import { ScannedRow } from './scanned-row.ts';
import { requireKnown } from './scanner.ts';

export const LOG_LAYOUT = new RowLayout(LOG_COLUMNS);
const BODY = LOG_LAYOUT.slot('body');

export class LogScanner {
  readonly row: ScannedRow;
  readonly #scanner: AttributeScanner;
  readonly #members = new RowMembers(LOG_LAYOUT, ['body']);

  constructor(scanner: AttributeScanner) {
    this.#scanner = scanner;
    this.row = new ScannedRow(LOG_LAYOUT, scanner.arena);
  }

  /** Reads one log record into `row`. */
  scan(): void {
    const scanner = this.#scanner;
    const members = this.#members;
    const { table } = members;
    const { row } = this;
    startRow(scanner, row);
    let seen = 0;
    const unknownBefore = scanner.unknownFields;
    for (let member = scanner.firstField(table); member >= 0; member = scanner.nextField(table)) {
      seen = markSeen(seen, member);
      if (!scanMember(scanner, row, members, member)) this.#scanBody();
    }
    requireKnown(scanner, seen !== 0, unknownBefore);
  }

  /** An empty body is stored as JSON's null, an absent one as SQL's NULL. */
  #scanBody(): void {
    const { arena } = this.#scanner;
    if (this.#scanner.isNull()) return;
    const { ranges } = this.row;
    ranges[BODY] = arena.end;
    this.#scanner.copyAnyValue();
    ranges[BODY + 1] = arena.end;
  }
}
