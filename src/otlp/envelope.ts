/**
 * The plain decoder's part that all signals share: body → resources → scopes → items. An item is a
 * span, a log record or a metric.
 *
 * A fault in an item rejects its records; a fault in a resource or scope rejects all records in it.
 * A fault in the lists around them makes the body undecodable: nothing can be counted.
 */
import type { Hex16, JsonObject, JsonValue } from '../model/json.ts';
import type {
  DecodedRequest,
  LogFacts,
  Origin,
  Rejection,
  Signal,
  SpanFacts,
} from '../model/telemetry.ts';
import { Fault, joinPath, REASONS, type Reason } from './fault.ts';
import { isObject, isUnset, parseList, parseObject } from './fields.ts';
import { parseJson, parseLongIntegers } from './json.ts';
import { AcceptedRecords, NumberRanges } from './lines/record-set.ts';
import type { Farewell } from './log-session.ts';
import { readResource, readScope } from './origin.ts';

/**
 * The request, or the fault that makes the body undecodable; `path` is empty for the whole body.
 */
export type DecodeResult =
  | {
      readonly ok: true;
      readonly request: DecodedRequest;
      /** the accepted records; null if no record of the body was rejected */
      readonly accepted: AcceptedRecords | null;
    }
  | { readonly ok: false; readonly message: string; readonly path: string };

export interface Envelope {
  readonly signal: Signal;
  readonly resourceList: string;
  readonly scopeList: string;
  readonly itemList: string;
  /** how many records an item holds: a metric its points, a span or log record 1 */
  readonly countRecords: (item: JsonValue) => number;
  /** adds the item's facts or rejections to the draft; must not throw */
  readonly parseItem: (item: JsonValue, draft: RequestDraft) => void;
  /** called when all items have been read */
  readonly finish?: (draft: RequestDraft) => void;
}

/** Beside the list of scopes, and beside the list of items. */
const RESOURCE_KEYS = ['resource', 'schemaUrl'];
const SCOPE_KEYS = ['scope', 'schemaUrl'];

/** A request being decoded: facts and rejections so far, and the current position in the body. */
export class RequestDraft {
  readonly spans: SpanFacts[] = [];
  readonly logs: LogFacts[] = [];
  /** number of accepted data points */
  points = 0;
  readonly rejections = new Map<Reason, Rejection>();
  readonly sessionEnds = new SessionEnds();
  readonly fault = new Fault();
  /** index of the current resource in the body */
  resourceIndex = 0;
  /** path of the list that contains the current item */
  itemsPath = '';
  origin: Origin = { serviceName: null, scopeName: '' };
  /** index of the current item in that list */
  itemIndex = 0;
  /** number of the current item in the body */
  itemNumber = 0;
  readonly #accepted = new AcceptedRecords();
  #hasRefused = false;
  readonly #signal: Signal;

  constructor(signal: Signal) {
    this.#signal = signal;
  }

  enterScope(itemsPath: string, origin: Origin): void {
    this.itemsPath = itemsPath;
    this.origin = origin;
  }

  /** The accepted records; null if every record of the body is accepted. */
  get accepted(): AcceptedRecords | null {
    return this.#hasRefused ? this.#accepted : null;
  }

  accept(): void {
    this.#accepted.items.add(this.itemNumber);
  }

  /** Accepts some points of the current item. @param points their indexes, rising */
  acceptPoints(points: readonly number[]): void {
    if (points.length === 0) return;
    this.accept();
    const ranges = new NumberRanges();
    for (const point of points) ranges.add(point);
    this.#accepted.points.set(this.itemNumber, ranges);
  }

  /** Rejects `count` records of the current item for its fault, found at `within` in it. */
  rejectItem(count: number, within = ''): void {
    const item = joinPath(`${this.itemsPath}[${this.itemIndex}]`, within);
    this.reject(this.fault, count, item);
  }

  /**
   * Notes an object in which nothing is known, unless one was noted before: no record is rejected.
   *
   * @param beside keys that are known there beside the list
   */
  noteUnknown(object: JsonObject, list: string, beside: readonly string[], path: string): void {
    if (this.rejections.has('nothing_known')) return;
    const message = describeUnknown(object, list, beside, path, this.#signal);
    if (message === null) return;
    this.rejections.set('nothing_known', {
      reason: 'nothing_known',
      count: 0,
      firstPath: path,
      message,
    });
  }

  /** Rejects `count` records for a fault found inside `parent`. */
  reject(fault: Fault, count: number, parent: string): void {
    const { reason } = fault;
    if (reason === null) throw new Error('reject() without a fault');
    this.#hasRefused = true;
    const known = this.rejections.get(reason);
    this.rejections.set(reason, {
      reason,
      count: (known?.count ?? 0) + count,
      firstPath: known?.firstPath ?? joinPath(parent, fault.path),
    });
  }
}

/**
 * Decodes one export request.
 *
 * @param body the request body, decompressed; only read during the call
 * @returns facts and rejections, or the fault that makes the whole body undecodable; no body makes
 *   it throw
 */
export function decodeEnvelope(body: Buffer, envelope: Envelope): DecodeResult {
  const parsed = parseJson(body);
  if (!parsed.ok) return { ok: false, message: parsed.message, path: '' };
  const frame = new Fault();
  let draft = walkResources(parsed.value, envelope, frame);
  if (draft.rejections.size > 0 && !frame.refused) {
    // A rounded integer always causes a rejection, so bodies without rejections need no check.
    const exact = parseLongIntegers(parsed.text);
    if (exact !== null) draft = walkResources(exact, envelope, frame);
  }
  if (frame.reason !== null) {
    const subject = frame.path === '' ? 'the body' : frame.path;
    return { ok: false, message: `${subject} ${REASONS[frame.reason]}`, path: frame.path };
  }
  envelope.finish?.(draft);
  const request: DecodedRequest = {
    signal: envelope.signal,
    spans: draft.spans,
    logs: draft.logs,
    points: draft.points,
    rejections: [...draft.rejections.values()],
  };
  return { ok: true, request, accepted: draft.accepted };
}

/**
 * Reads the resources and scopes of a body, without its items.
 *
 * @returns the origin of each scope, in order. Null when the plain decoder refuses the body or rejects a part of it
 */
export function readOrigins(body: JsonValue, envelope: Envelope): readonly Origin[] | null {
  const origins: Origin[] = [];
  const frame = new Fault();
  const draft = walkResources(body, { ...envelope, parseItem: () => {} }, frame, origins);
  return frame.refused || draft.rejections.size > 0 ? null : origins;
}

/**
 * Reads the whole body into a new draft, which must not be used if `frame` is set afterwards.
 *
 * @param origins takes those of the scopes
 */
function walkResources(
  body: JsonValue,
  envelope: Envelope,
  frame: Fault,
  origins: Origin[] = [],
): RequestDraft {
  const draft = new RequestDraft(envelope.signal);
  if (!isObject(body)) {
    frame.refuse('not_an_object', '');
    return draft;
  }
  draft.noteUnknown(body, envelope.resourceList, [], '');
  const resources = parseList(body[envelope.resourceList], envelope.resourceList, frame);
  for (const [index, raw] of resources.entries()) {
    draft.resourceIndex = index;
    const path = `${envelope.resourceList}[${index}]`;
    const entry = parseObject(raw, path, frame);
    const fault = new Fault();
    const serviceName = readResource(entry, fault);
    draft.noteUnknown(entry, envelope.scopeList, RESOURCE_KEYS, path);
    const scopesPath = `${path}.${envelope.scopeList}`;
    const scopes = parseList(entry[envelope.scopeList], scopesPath, frame);
    for (const [scopeIndex, scope] of scopes.entries()) {
      const scopePath = `${scopesPath}[${scopeIndex}]`;
      walkScope(scope, scopePath, { serviceName, fault, path }, envelope, draft, frame);
      origins.push(draft.origin);
    }
  }
  return draft;
}

function walkScope(
  raw: JsonValue,
  path: string,
  parent: { serviceName: string | null; fault: Fault; path: string },
  envelope: Envelope,
  draft: RequestDraft,
  frame: Fault,
): void {
  const entry = parseObject(raw, path, frame);
  const fault = new Fault();
  const scopeName = readScope(entry, fault);
  draft.noteUnknown(entry, envelope.itemList, SCOPE_KEYS, path);
  const itemsPath = `${path}.${envelope.itemList}`;
  const items = parseList(entry[envelope.itemList], itemsPath, frame);
  if (parent.fault.refused || fault.refused) {
    let count = 0;
    for (const item of items) count += envelope.countRecords(item);
    draft.itemNumber += items.length;
    if (parent.fault.refused) draft.reject(parent.fault, count, parent.path);
    else draft.reject(fault, count, path);
    return;
  }
  draft.enterScope(itemsPath, { serviceName: parent.serviceName, scopeName });
  for (let index = 0; index < items.length; index += 1) {
    draft.itemIndex = index;
    draft.fault.reset();
    envelope.parseItem(items[index] ?? null, draft);
    draft.itemNumber += 1;
  }
}

// Which sessions of a request end with it: known only when all of its records have been read
// (`Farewell`). The last record of such a session gets `ends`.

interface LastRecord {
  /** index in the request's log records */
  index: number;
  /** index of its resource in the request, whose records are of one process */
  resource: number;
  isFarewell: boolean;
}

class SessionEnds {
  readonly #last = new Map<Hex16, LastRecord>();
  readonly #endedResources = new Set<number>();

  add(key: Hex16, index: number, resource: number, farewell: Farewell | null): void {
    this.#last.set(key, { index, resource, isFarewell: farewell === 'if_last' });
  }

  /** The process that sent a resource has said goodbye. */
  endProcess(resource: number): void {
    this.#endedResources.add(resource);
  }

  applyTo(logs: LogFacts[]): void {
    for (const { index, resource, isFarewell } of this.#last.values()) {
      const log = logs[index];
      if (!isFarewell && !this.#endedResources.has(resource)) continue;
      if (log?.session) logs[index] = { ...log, session: { ...log.session, ends: true } };
    }
  }
}

const KEYS_MAX = 5;
const KEY_CHARS_MAX = 40;
const PLAIN_KEY = /^[\w.$-]+$/;

/**
 * Says what was expected in an object in which nothing is known.
 *
 * @param list key of the list that belongs there
 * @param beside other keys that are known there
 * @returns null when the list is there, or nothing unknown is
 */
function describeUnknown(
  object: JsonObject,
  list: string,
  beside: readonly string[],
  path: string,
  signal: Signal,
): string | null {
  if (!isUnset(object[list])) return null;
  const keys: string[] = [];
  let more = 0;
  for (const key in object) {
    if (!Object.hasOwn(object, key) || key === list || beside.includes(key)) continue;
    if (keys.length < KEYS_MAX) keys.push(shown(key));
    else more += 1;
  }
  if (keys.length === 0) return null;
  const named = keys.join(', ') + (more > 0 ? ` and ${more} more` : '');
  const there = path === '' ? 'this body' : path;
  return `${signal} were expected (${list}); ${there} has ${named}`;
}

/** A key as a message shows it: cut, and quoted unless it is a plain name. */
function shown(key: string): string {
  const characters = [...key.slice(0, 2 * KEY_CHARS_MAX)];
  const cut = characters.slice(0, KEY_CHARS_MAX).join('');
  const whole = cut.length < key.length ? `${cut}…` : cut;
  return PLAIN_KEY.test(key) ? whole : JSON.stringify(whole);
}
