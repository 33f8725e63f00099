/**
 * Chooses among several hosts of one database: the one that takes writes, as after a failover.
 *
 *   unknown ──all hosts tried at once──► known ──a connection to it fails, or it refuses writes──► unknown
 *
 * A connection fails with its host; the next one looks for another. A server does not become a standby
 * while it has connections, but a proxy may lead to another server, so each new connection is checked.
 */
import pg from 'pg';

import type { HostTarget } from '../database-url.ts';
import { UnavailableError } from '../errors.ts';

/** For a host that hangs while others are tried. */
const PROBE_TIMEOUT_MS = 3000;

const ACCEPTED: Readonly<Record<HostTarget, (state: HostState) => boolean>> = {
  'read-write': ({ isReadOnly }) => !isReadOnly,
  primary: ({ isStandby }) => !isStandby,
  any: () => true,
};

interface HostState {
  readonly isStandby: boolean;
  readonly isReadOnly: boolean;
}

const STATE = `SELECT pg_is_in_recovery() AS "isStandby",
  current_setting('transaction_read_only')::bool AS "isReadOnly"`;

interface Address {
  readonly url: string;
  readonly host: string;
  readonly port: number;
}

function addressOf(url: string): Address {
  const { host, port } = new pg.Client({ connectionString: url });
  return { url, host, port };
}

async function requireTarget(client: pg.Client, target: HostTarget): Promise<void> {
  const { rows } = await client.query<HostState>(STATE);
  const [state] = rows;
  if (state !== undefined && ACCEPTED[target](state)) return;
  throw new UnavailableError(
    `${client.host}:${client.port} is ${state?.isStandby ? 'a standby' : 'read-only'}`,
  );
}

/** Closes a connection; `pg` alone would wait for a server that hangs. */
function abandon(client: pg.Client): void {
  client.on('error', () => {});
  client.end().catch(() => {});
  setTimeout(() => client.connection.stream.destroy(), PROBE_TIMEOUT_MS).unref();
}

export class HostChoice {
  readonly #addresses: readonly Address[];
  readonly #target: HostTarget;
  readonly #Client: typeof pg.Client;
  #known: Address | null = null;
  #finding: Promise<Address> | null = null;

  constructor(urls: readonly string[], target: HostTarget, Client: typeof pg.Client) {
    this.#addresses = urls.map(addressOf);
    this.#target = target;
    this.#Client = Client;
  }

  /** The host to use. @throws {Error} with the reason of each host when none can be used */
  async choose(): Promise<Address> {
    if (this.#known !== null) return this.#known;
    this.#finding ??= this.#find().finally(() => {
      this.#finding = null;
    });
    return await this.#finding;
  }

  forget(address: Address): void {
    if (this.#known === address) this.#known = null;
  }

  async check(client: pg.Client): Promise<void> {
    await requireTarget(client, this.#target);
  }

  async #find(): Promise<Address> {
    try {
      this.#known = await Promise.any(this.#addresses.map((address) => this.#probe(address)));
      return this.#known;
    } catch (error) {
      const { errors } = error as AggregateError;
      const reasons = errors.map((one) => (one instanceof Error ? one.message : String(one)));
      throw new UnavailableError(`no host can be used: ${reasons.join('; ')}`, { cause: error });
    }
  }

  async #probe(address: Address): Promise<Address> {
    const client = new this.#Client({
      connectionString: address.url,
      connectionTimeoutMillis: PROBE_TIMEOUT_MS,
      query_timeout: PROBE_TIMEOUT_MS,
    });
    client.on('error', () => {});
    try {
      await client.connect();
      await this.check(client);
      return address;
    } finally {
      abandon(client);
    }
  }
}

type OnConnected = (error: Error | undefined) => void;

/** As `Client`, but connects to the host that is chosen then. */
export function createSwitchingClient(
  Client: typeof pg.Client,
  choice: HostChoice,
): typeof pg.Client {
  return class SwitchingClient extends Client {
    override connect(): Promise<pg.Client>;
    override connect(callback: OnConnected): void;
    override connect(callback?: OnConnected): Promise<pg.Client> | undefined {
      const connecting = this.#connect();
      if (callback === undefined) return connecting;
      connecting.then(() => callback(undefined), callback);
      return undefined;
    }

    async #connect(): Promise<pg.Client> {
      const address = await choice.choose();
      // The pool's time limit, which has destroyed the socket meanwhile.
      if (this.connection.stream.destroyed) throw new UnavailableError('The connection timed out.');
      try {
        this.host = address.host;
        this.port = address.port;
        await super.connect();
        await choice.check(this);
        return this;
      } catch (error) {
        choice.forget(address);
        abandon(this);
        throw error;
      }
    }
  };
}
