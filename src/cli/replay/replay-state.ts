/**
 * How far a replay came, in a file, so that the same command continues there: so many bodies, from the first
 * one on, were answered. Bodies are sent a few at a time, so some that were answered later are sent again.
 */
import { rm } from 'node:fs/promises';
import { z } from 'zod';
import { OperatorError } from '../../errors.ts';
import { readJsonFile, replaceJsonFile } from '../state-file.ts';

const WRITE_EVERY_MS = 1000;

const stateShape = z.object({
  version: z.literal(1),
  /** the files with their sizes, the server, and the options that change bodies */
  replay: z.string(),
  answered: z.number().int().nonnegative(),
  refused: z.number().int().nonnegative(),
  /** of `--new-ids` */
  salt: z.string(),
  /** nanoseconds of `--shift-to-now`; null if it is not known yet */
  shift: z.string().nullable(),
});

type State = z.infer<typeof stateShape>;

export class ReplayState {
  readonly #path: string | null;
  readonly #state: State;
  /** bodies that were answered before one of those before them */
  readonly #ahead = new Set<number>();
  #writing: Promise<void> | null = null;
  #writtenAtMs = 0;

  private constructor(path: string | null, state: State) {
    this.#path = path;
    this.#state = state;
  }

  /** @throws {OperatorError} if it is of another replay */
  static async open(path: string | null, replay: string, salt: string): Promise<ReplayState> {
    const found = path === null ? undefined : await readJsonFile(path);
    if (found === undefined) {
      const state = { version: 1, replay, answered: 0, refused: 0, salt, shift: null } as const;
      return new ReplayState(path, state);
    }
    const state = stateShape.safeParse(found);
    if (state.success && state.data.replay === replay) return new ReplayState(path, state.data);
    throw new OperatorError(
      `${path} is of a replay of other files, to another server or with other options: use another ` +
        'file for --state, or remove it to begin again',
    );
  }

  /** Bodies that need not be sent again. */
  get answered(): number {
    return this.#state.answered;
  }

  get refused(): number {
    return this.#state.refused;
  }

  get salt(): string {
    return this.#state.salt;
  }

  get shift(): bigint | null {
    return this.#state.shift === null ? null : BigInt(this.#state.shift);
  }

  set shift(nanos: bigint) {
    this.#state.shift = String(nanos);
  }

  /** Notes an answer. @param number of the body, from 0 in the order of the files */
  note(number: number, isRefused: boolean): void {
    const state = this.#state;
    if (isRefused) state.refused += 1;
    this.#ahead.add(number);
    while (this.#ahead.delete(state.answered)) state.answered += 1;
    const nowMs = performance.now();
    if (this.#writing !== null || nowMs - this.#writtenAtMs < WRITE_EVERY_MS) return;
    this.#writtenAtMs = nowMs;
    this.#writing = this.write().finally(() => {
      this.#writing = null;
    });
    // `end` writes it again, and throws.
    this.#writing.catch(() => {});
  }

  async write(): Promise<void> {
    if (this.#path !== null) await replaceJsonFile(this.#path, this.#state);
  }

  async end(isComplete: boolean): Promise<void> {
    await this.#writing?.catch(() => {});
    if (this.#path === null) return;
    if (isComplete) await rm(this.#path, { force: true });
    else await this.write();
  }
}
