/**
 * Owns the branches of all patterns and what each needs, as flat tables: a text that many literals
 * stand in asks about a thousand branches, and what is spread over memory costs more to look up than
 * to compare.
 */
import type { Pages } from './pages.ts';
import { type Reach, ReachTable, type TextBounds } from './reach.ts';
import { startsOf } from './tables.ts';

/** A set of literals that every match has: so far at most before or behind its anchor. */
export interface Companion {
  readonly set: number;
  readonly back: Reach;
  readonly ahead: Reach;
}

/** A top-level alternative of a pattern: its rarest set of literals, and what stands near it. */
export interface SoughtBranch {
  readonly pattern: number;
  readonly pages: Pages;
  /** the anchor */
  readonly set: number;
  /** how far a match reaches before and behind the beginning of the anchor's literal */
  readonly before: Reach;
  readonly after: Reach;
  readonly companions: readonly Companion[];
}

/** Sets looked for beside the anchor; more cost more than they keep away. */
export const COMPANIONS_MAX = 2;
const NO_SET = -1;

export class Branches {
  /** branch → pattern */
  readonly pattern: Int32Array;
  /** branch → the set that anchors it */
  readonly set: Int32Array;
  /** branch → how far a match reaches, as `reach` tells it */
  readonly before: Int32Array;
  readonly after: Int32Array;
  /** set → where the branches it anchors begin in `anchored`; they end where those of the next begin */
  readonly anchoredAt: Int32Array;
  readonly anchored: Int32Array;
  readonly #pages: readonly Pages[];
  readonly #needsPage: Uint8Array;
  /** branch * COMPANIONS_MAX + which → set, or NO_SET */
  readonly #companion: Int32Array;
  readonly #back: Int32Array;
  readonly #ahead: Int32Array;
  readonly #reaches = new ReachTable();

  /** @param sets how many there are */
  constructor(branches: readonly SoughtBranch[], sets: number) {
    this.pattern = Int32Array.from(branches, ({ pattern }) => pattern);
    this.set = Int32Array.from(branches, ({ set }) => set);
    this.before = Int32Array.from(branches, ({ before }) => this.#reaches.idOf(before));
    this.after = Int32Array.from(branches, ({ after }) => this.#reaches.idOf(after));
    this.#pages = branches.map(({ pages }) => pages);
    this.#needsPage = Uint8Array.from(branches, ({ pages }) => (pages === null ? 0 : 1));
    this.#companion = new Int32Array(branches.length * COMPANIONS_MAX).fill(NO_SET);
    this.#back = new Int32Array(branches.length * COMPANIONS_MAX);
    this.#ahead = new Int32Array(branches.length * COMPANIONS_MAX);
    const anchored: number[][] = Array.from({ length: sets }, () => []);
    branches.forEach(({ set, companions }, branch) => {
      anchored[set]?.push(branch);
      companions.forEach((companion, which) => {
        const at = branch * COMPANIONS_MAX + which;
        this.#companion[at] = companion.set;
        this.#back[at] = this.#reaches.idOf(companion.back);
        this.#ahead[at] = this.#reaches.idOf(companion.ahead);
      });
    });
    this.anchored = Int32Array.from(anchored.flat());
    this.anchoredAt = startsOf(anchored);
    this.#reaches.close();
  }

  /** The pages of Unicode one of which every match touches; null when ASCII may do. */
  pagesOf(branch: number): Pages {
    return this.#needsPage[branch] === 1 ? (this.#pages[branch] ?? null) : null;
  }

  /** The set of a companion, -1 for none. @param which below `COMPANIONS_MAX` */
  companion(branch: number, which: number): number {
    return this.#companion[branch * COMPANIONS_MAX + which] as number;
  }

  /** How far before its anchor a companion stands at most, in bytes of the text at hand. */
  back(branch: number, which: number): number {
    return this.reach(this.#back[branch * COMPANIONS_MAX + which] as number);
  }

  /** How far behind. */
  ahead(branch: number, which: number): number {
    return this.reach(this.#ahead[branch * COMPANIONS_MAX + which] as number);
  }

  /** Goes on to the next text. */
  enter(bounds: TextBounds): void {
    this.#reaches.enter(bounds);
  }

  /** A reach in the text at hand, in bytes; Infinity when nothing holds it. */
  reach(id: number): number {
    return this.#reaches.inText(id);
  }
}
