/** Telemetry requests that were refused for a fault of their sender, as they are counted and shown. */

/** A request that is answered 200, because OTLP asks for it, though nothing in it or in a part of it is known. */
export const NOTHING_KNOWN = 'nothing_known';

/** Equal refusals of one key, address, program and path. */
export interface RefusedSender {
  /** a code of the error table, or `NOTHING_KNOWN`; in a stored group also `revoked_key` */
  readonly reason: string;
  /** the client's address, or `unknown` */
  readonly address: string;
  /** the User-Agent header, or its beginning; empty when there was none */
  readonly userAgent: string;
  readonly path: string;
  readonly requests: number;
}

/** Refusals counted in memory, whose key is yet to be looked up. */
export interface RefusedGroup extends RefusedSender {
  /** the digest of the key that was sent; null when the request held none of this server's form */
  readonly digest: Buffer | null;
  /** the first characters of that key, as lists of keys show them; null as above */
  readonly keyPrefix: string | null;
}

/** Refusals of a workspace's key in the last hour. */
export interface ListedRefusal extends RefusedSender {
  /** name and first characters of the key */
  readonly keyName: string;
  readonly keyPrefix: string;
  readonly lastAt: Date;
}

export interface ListedRefusals {
  /** the most frequent first; not all when there are many */
  readonly groups: readonly ListedRefusal[];
  /** of all groups */
  readonly requests: number;
}
