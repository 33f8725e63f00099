/**
 * What the thread that decodes large bodies and the thread that takes requests say to each other, one word at
 * a time, each an answer to the one before:
 *
 *   decode ─► refused │ undecodable
 *          ─► (marks ─► marks)… (runs ─► runs)… rows ─► (more ─► list)… more ─► end
 *
 * Whatever grows with the number of records crosses in parts, because taking a message apart holds the event
 * loop: half a million runs in one took it a second.
 */
import type { EncodedRequest } from '../db/encoded-request.ts';
import type { LogRun, SessionMark, SessionRecord } from '../db/log-runs.ts';
import type { TelemetryTable } from '../db/table-layouts.ts';
import type { ErrorCode } from '../errors.ts';
import type { Rejection, Signal } from '../model.ts';

/** Items of one message. */
export const PART_ITEMS_MAX = 500;

/** What is stored beside rows, or the next part of it. */
export type Lists = Pick<EncodedRequest, 'resources' | 'metrics' | 'runs' | 'sessionMarks'>;

export type ToDecodeThread =
  | {
      readonly kind: 'decode';
      readonly signal: Signal;
      readonly body: Uint8Array;
      readonly workspaceId: number;
      readonly arrivedAtMs: number;
    }
  | { readonly kind: 'marks'; readonly marks: readonly SessionMark[] }
  | { readonly kind: 'runs'; readonly runs: readonly (LogRun | null)[] }
  | { readonly kind: 'more' };

export type FromDecodeThread =
  | { readonly kind: 'refused'; readonly code: ErrorCode; readonly message: string }
  | { readonly kind: 'undecodable'; readonly message: string; readonly path: string }
  /** records that name a session: what they say of its course, and which runs they belong to */
  | { readonly kind: 'marks'; readonly records: readonly SessionRecord[] }
  | { readonly kind: 'runs'; readonly records: readonly SessionRecord[] }
  | {
      readonly kind: 'rows';
      readonly rejections: readonly Rejection[];
      readonly replacedCharacters: number;
      readonly chunks: ReadonlyMap<TelemetryTable, Uint8Array>;
      readonly rows: number;
      readonly bytes: number;
    }
  | { readonly kind: 'list'; readonly lists: Lists }
  | { readonly kind: 'end' };
