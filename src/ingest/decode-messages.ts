/**
 * The messages between the thread that takes requests and the process that decodes large
 * bodies. Each message is the reply to the one before:
 *
 *   decode ─► refused │ undecodable
 *          ─► (marks ─► marks)… (runs ─► runs)… request ─► (more ─► line)… (more ─► list)… more ─► end
 *
 * Lists that grow with the number of records are sent in parts, because deserializing a message
 * blocks the event loop: half a million runs in one message took a second.
 */
import type { EncodedRequest } from '../db/telemetry/encoded-request.ts';
import type { LogRun, SessionMark, SessionRecord } from '../db/telemetry/log-runs.ts';
import type { ErrorCode } from '../errors.ts';
import type { Rejection, Signal } from '../model/telemetry.ts';

export const PART_ITEMS_MAX = 500;

/** The lists stored in addition to the lines, or a part of them. */
export type StoredLists = Pick<EncodedRequest, 'runs' | 'sessionMarks'>;

export type ToDecodeProcess =
  /** its bytes are the body */
  | {
      readonly kind: 'decode';
      readonly signal: Signal;
      readonly workspaceId: number;
      readonly arrivedAtMs: number;
    }
  | { readonly kind: 'marks'; readonly marks: readonly SessionMark[] }
  | { readonly kind: 'runs'; readonly runs: readonly (LogRun | null)[] }
  | { readonly kind: 'more' };

export type FromDecodeProcess =
  | { readonly kind: 'refused'; readonly code: ErrorCode; readonly message: string }
  | { readonly kind: 'undecodable'; readonly message: string; readonly path: string }
  /** records with a session, sent first for their session marks, then for their runs */
  | { readonly kind: 'marks'; readonly records: readonly SessionRecord[] }
  | { readonly kind: 'runs'; readonly records: readonly SessionRecord[] }
  | {
      readonly kind: 'request';
      readonly rejections: readonly Rejection[];
      readonly records: number;
      readonly bytes: number;
    }
  /** its bytes are a line of records */
  | { readonly kind: 'line'; readonly records: number }
  | { readonly kind: 'list'; readonly lists: StoredLists }
  | { readonly kind: 'end' };
