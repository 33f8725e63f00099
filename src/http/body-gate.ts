/**
 * Which bodies may be read now. Reading what cannot be decoded or stored yet helps nobody, and costs the
 * event loop what others wait for: 256 connections bring 128 MB in one look at the sockets. So a
 * workspace that has enough to decode, or no room left, has its next bodies wait unread, in the kernels'
 * buffers; after a while they are refused. No other workspace waits for that (issue 9.8).
 *
 *   head ──► room, and little to decode? ──yes──► read ──► decode ──► store ──► released
 *                 └──no──► wait, in order ──► read, or 503 after `WAIT_MS`
 */
import type { ByteAccount, ByteBudget } from './byte-budget.ts';
import { noRoom } from './exchange.ts';

/** Bytes of a workspace's bodies that are read and not decoded; one body alone may have more. */
const UNDECODED_BYTES_MAX = 32 * 1024 * 1024;
/**
 * A client whose body waits here sends nothing; one that is refused sends all of it, to be dropped, and again. Well
 * below the 10 s that exporters wait.
 */
const WAIT_MS = 4000;
/**
 * Bodies of a workspace that may wait; more are refused at once. Each may have brought the 512 KiB with its
 * head that uWebSockets.js reads at a time, and those are in no budget.
 */
const WAITING_MAX = 256;
/** How often waiting bodies look for room that another thread has given back, of which nothing is heard here. */
const LOOK_MS = 50;

/** A body that may be read. */
export interface AdmittedBody extends ByteAccount {
  /** To be called when it is decoded, or will not be: others may be read then. May be called again. */
  readonly decoded: () => void;
}

interface Waiting {
  readonly tryEnter: () => boolean;
}

export interface BodyGateSettings {
  readonly undecodedBytesMax?: number;
  readonly waitMs?: number;
  readonly waitingMax?: number;
}

export class BodyGate {
  readonly #budget: ByteBudget;
  readonly #settings: Required<BodyGateSettings>;
  /** bytes to decode, by workspace */
  readonly #undecoded = new Map<number, number>();
  /** by workspace, in order; none is empty */
  readonly #waiting = new Map<number, Waiting[]>();
  /** runs while bodies wait */
  #look: NodeJS.Timeout | null = null;

  constructor(budget: ByteBudget, settings: BodyGateSettings = {}) {
    this.#budget = budget;
    const { undecodedBytesMax = UNDECODED_BYTES_MAX, waitMs = WAIT_MS } = settings;
    this.#settings = { undecodedBytesMax, waitMs, waitingMax: settings.waitingMax ?? WAITING_MAX };
  }

  /**
   * Takes room for a body and lets it be read, at once or after those of its workspace before it.
   *
   * @param bytes what it declares to have; 0 when it does not say
   * @returns an account of the body, to be released when nothing reads it any more
   * @throws {SluiceError} `overloaded` when there is no room in time
   */
  async enter(workspaceId: number, bytes: number): Promise<AdmittedBody> {
    const account = this.#budget.open(workspaceId);
    const tryEnter = (): boolean => {
      if (!this.#mayRead(workspaceId, bytes) || !account.reserve(bytes)) return false;
      this.#count(workspaceId, bytes);
      return true;
    };
    const line = this.#waiting.get(workspaceId) ?? [];
    if (line.length > 0 || !tryEnter()) {
      if (line.length >= this.#settings.waitingMax) throw noRoom();
      await this.#wait(workspaceId, tryEnter);
    }
    let undecoded = bytes;
    const decoded = (): void => {
      this.#count(workspaceId, -undecoded);
      undecoded = 0;
      this.#wake(workspaceId);
    };
    const release = (): void => {
      decoded();
      account.release();
      this.#wakeAll();
    };
    return { reserve: account.reserve, decoded, release };
  }

  #count(workspaceId: number, change: number): void {
    const bytes = (this.#undecoded.get(workspaceId) ?? 0) + change;
    if (bytes > 0) this.#undecoded.set(workspaceId, bytes);
    else this.#undecoded.delete(workspaceId);
  }

  #mayRead(workspaceId: number, bytes: number): boolean {
    const before = this.#undecoded.get(workspaceId) ?? 0;
    return before === 0 || before + bytes <= this.#settings.undecodedBytesMax;
  }

  #wait(workspaceId: number, tryEnter: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiting = {
        tryEnter: () => {
          if (!tryEnter()) return false;
          clearTimeout(timer);
          resolve();
          return true;
        },
      };
      const line = this.#waiting.get(workspaceId) ?? [];
      line.push(waiting);
      this.#waiting.set(workspaceId, line);
      this.#lookLater();
      const timer = setTimeout(() => {
        line.splice(line.indexOf(waiting), 1);
        if (line.length === 0) this.#waiting.delete(workspaceId);
        reject(noRoom());
      }, this.#settings.waitMs);
    });
  }

  #lookLater(): void {
    if (this.#look !== null || this.#waiting.size === 0) return;
    this.#look = setTimeout(() => {
      this.#look = null;
      this.#wakeAll();
      this.#lookLater();
    }, LOOK_MS);
  }

  #wakeAll(): void {
    for (const workspaceId of [...this.#waiting.keys()]) this.#wake(workspaceId);
  }

  #wake(workspaceId: number): void {
    const line = this.#waiting.get(workspaceId);
    if (line === undefined) return;
    while (line[0]?.tryEnter() === true) line.shift();
    if (line.length === 0) this.#waiting.delete(workspaceId);
  }
}
