/**
 * Counts telemetry requests that are refused for a fault of their sender, because most exporters
 * report a refusal nowhere. Equal refusals (key, address, program, path, reason) are one group; the
 * groups are taken away at intervals (`takeGroups`), to be stored for the key's workspace or logged.
 *
 * A refusal costs a digest and a few look-ups in memory, whatever is sent. Groups of valid keys and all
 * others have separate memory, each workspace and each network has a share of it, and refusals beyond a
 * share are counted by the metric only: a flood of invented keys does not displace the groups of known
 * senders. Keys are held by digest, never in clear.
 */
import { ERRORS, type ErrorCode, type SluiceError } from '../../errors.ts';
import { NOTHING_KNOWN, type RefusedGroup } from '../../model/refused-requests.ts';
import type { Events } from '../../observe/events.ts';
import { networkOf } from '../transport/browser-head.ts';
import type { Exchange } from '../transport/exchange.ts';
import type { Authenticator } from './authentication.ts';

/** Most groups of one workspace, or of one network, between two calls of `takeGroups`. */
export const GROUPS_EACH_MAX = 20;
/** Most groups of valid keys, and as many others. */
export const GROUPS_MAX = 500;
/** Characters kept of a path and of a User-Agent header. */
export const SHOWN_CHARS_MAX = 120;
/** Text in a path or a header that looks like a key of ours: it is not kept. */
const KEY_LIKE = /[a-z0-9]{1,32}_(?:live|obs|key)_[A-Za-z0-9]{7,}/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it finds
const CONTROLS = /[\x00-\x1f\x7f]/g;

const TELEMETRY_PATH =
  /(?:^|\/)v1\/(?:traces|metrics|logs)\/?$|^\/platform\/v1\/ingest(?:\/|$)|^\/v1\//;
const APP_PATH = /^\/app(?:\/|$)/;

export type RefusedRequest = Pick<
  Exchange,
  'method' | 'path' | 'authorization' | 'userAgent' | 'clientAddress'
>;

/** Refusals that are to be corrected by the sender; all but the rate limit are for good. */
function isSendersFault(code: ErrorCode): boolean {
  return !ERRORS[code].retryable || code === 'rate_limited';
}

/** Checks whether a request that no route took was meant to send telemetry. */
function isTelemetry({ method, path }: RefusedRequest): boolean {
  if (APP_PATH.test(path)) return false;
  return method === 'POST' || TELEMETRY_PATH.test(path);
}

function shown(text: string): string {
  return text.replaceAll(CONTROLS, '').replaceAll(KEY_LIKE, '…').slice(0, SHOWN_CHARS_MAX);
}

type Group = { -readonly [Name in keyof RefusedGroup]: RefusedGroup[Name] };

class Shares {
  #groups = new Map<string, Group>();
  #sizes = new Map<string, number>();

  /** @param shareOf called unless the group is known */
  add(id: string, shareOf: () => string, create: () => Group): void {
    const known = this.#groups.get(id);
    if (known !== undefined) {
      known.requests += 1;
      return;
    }
    if (this.#groups.size >= GROUPS_MAX) return;
    const share = shareOf();
    const size = this.#sizes.get(share) ?? 0;
    if (size >= GROUPS_EACH_MAX) return;
    this.#sizes.set(share, size + 1);
    this.#groups.set(id, create());
  }

  take(): RefusedGroup[] {
    const taken = [...this.#groups.values()];
    this.#groups = new Map();
    this.#sizes = new Map();
    return taken;
  }
}

export class RefusedRequests {
  readonly #identify: Authenticator['identify'];
  readonly #events: Pick<Events, 'requestRefused'>;
  readonly #valid = new Shares();
  readonly #others = new Shares();

  constructor(
    { identify }: Pick<Authenticator, 'identify'>,
    events: Pick<Events, 'requestRefused'>,
  ) {
    this.#identify = identify;
    this.#events = events;
  }

  /** Counts the refusal of a request to an ingest path; call it before the answer is sent. */
  note(request: RefusedRequest, { code }: SluiceError): void {
    if (isSendersFault(code)) this.#count(request, code);
  }

  /** Counts a request that was answered 200 with a message, because nothing in a part of it is known. */
  noteNothingKnown(request: RefusedRequest): void {
    this.#count(request, NOTHING_KNOWN);
  }

  #count(request: RefusedRequest, reason: RefusedGroup['reason']): void {
    this.#events.requestRefused(reason);
    const { path, clientAddress: address } = request;
    const userAgent = request.userAgent.slice(0, SHOWN_CHARS_MAX);
    const key = this.#identify(request.authorization);
    const credential = key?.credential ?? null;
    const id = `${key?.id ?? ''}\n${reason}\n${address}\n${path}\n${userAgent}`;
    const create = (): Group => ({
      reason,
      digest: key?.digest ?? null,
      keyPrefix: key?.prefix ?? null,
      address,
      userAgent: shown(userAgent),
      path: shown(path),
      requests: 1,
    });
    if (credential === null) this.#others.add(id, () => networkOf(address, 4, 4), create);
    else this.#valid.add(id, () => String(credential.workspaceId), create);
  }

  /** Counts a request that no route took, if it was meant to send telemetry. */
  noteUnrouted(request: RefusedRequest, error: SluiceError): void {
    if (isTelemetry(request)) this.note(request, error);
  }

  takeGroups(): RefusedGroup[] {
    return [...this.#valid.take(), ...this.#others.take()];
  }
}
