/**
 * Decides when a request's body may be read. Reading a body before it can be decoded or stored only
 * takes event-loop time from other requests: 256 connections deliver 128 MB in one poll of the
 * sockets. So while a workspace has enough undecoded bodies, or no memory left, its next bodies
 * stay in the kernel's buffers, and are refused after `WAIT_MS`. Other workspaces are not
 * affected.
 *
 *   head ──► room, and little undecoded? ──yes──► read ──► decode ──► store ──► released
 *                 └──no──► wait, in order ──► read, or 503 after `WAIT_MS`
 */

import { noRoom } from '../transport/exchange.ts';
import type { ByteAccount, ByteBudget } from './byte-budget.ts';

/** Most undecoded bytes per workspace; a single body may be larger. */
const UNDECODED_BYTES_MAX = 8 * 1024 * 1024;
/**
 * Waiting saves bandwidth: a refused client sends its whole body, which is dropped, and retries.
 * Well below the exporters' timeout of 10 s.
 */
const WAIT_MS = 4000;
/**
 * Most waiting bodies per workspace; more are refused at once. uWebSockets.js may have read up to
 * 512 KiB of each together with its head, and no budget counts these bytes.
 */
const WAITING_MAX = 256;

export interface AdmittedBody extends ByteAccount {
  /** Must be called once the body is decoded or dropped, so that the next one is read. Idempotent. */
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
  /** undecoded bytes, by workspace */
  readonly #undecoded = new Map<number, number>();
  /** by workspace, in order of arrival; no list is empty */
  readonly #waiting = new Map<number, Waiting[]>();

  constructor(budget: ByteBudget, settings: BodyGateSettings = {}) {
    this.#budget = budget;
    const { undecodedBytesMax = UNDECODED_BYTES_MAX, waitMs = WAIT_MS } = settings;
    this.#settings = { undecodedBytesMax, waitMs, waitingMax: settings.waitingMax ?? WAITING_MAX };
  }

  /**
   * @param bytes the declared length; 0 if there is none
   * @returns the body's account, to be released when the body is no longer used
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
      const timer = setTimeout(() => {
        line.splice(line.indexOf(waiting), 1);
        if (line.length === 0) this.#waiting.delete(workspaceId);
        reject(noRoom());
        // One behind it may be smaller.
        this.#wake(workspaceId);
      }, this.#settings.waitMs);
    });
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
