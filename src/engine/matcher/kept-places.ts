/**
 * Owns which hits of a rule are places: one for each distinct matched text, surface and tool in a run.
 * An exception hides a finding only if it covers all of them, so a rule that has hit is matched on.
 * Bounded: what is past a bound is noted as one last place, the rest, which no text can cover.
 */
import { MORE_PLACES_MAX } from '../../model/findings.ts';
import type { SurfaceText } from '../../model/steps.ts';
import { matchSha256 } from './match-digest.ts';
import { toolNameOf } from './matched-tool.ts';
import type { TextHit } from './prepared-text.ts';

/**
 * Most hits of a condition in a text that are looked at: each is a search, which may read the text to
 * its end.
 */
export const TEXT_HITS_MAX = 256;

/** A hit with the digest of its matched text. */
export interface DigestedHit extends TextHit {
  readonly sha256: string;
  /** it stands for further hits of the text, which were not looked at */
  readonly isRest: boolean;
}

/**
 * The distinct hits of a pattern in a text.
 *
 * @param text as it was written
 * @param first its first hit
 * @param further the others, which are searched as they are taken
 */
export function distinctHits(
  text: string,
  first: TextHit,
  further: Iterable<TextHit>,
): readonly DigestedHit[] {
  const digested = (hit: TextHit, isRest = false): DigestedHit => {
    return { ...hit, sha256: matchSha256(text, hit), isRest };
  };
  const firstOne = digested(first);
  const distinct = new Map([[firstOne.sha256, firstOne]]);
  let count = 1;
  for (const hit of further) {
    count += 1;
    if (count > TEXT_HITS_MAX) return [...distinct.values(), digested(hit, true)];
    const one = digested(hit);
    if (!distinct.has(one.sha256)) distinct.set(one.sha256, one);
    // More than any rule can keep: the rest of the text changes nothing.
    if (distinct.size > MORE_PLACES_MAX + 2) break;
  }
  return [...distinct.values()];
}

/** Checks whether a hit is a new place of the rule; `rest` is the last one of the rule. */
type Kept = 'known' | 'new' | 'rest';

/** The places of the rules of one run. */
export class KeptPlaces {
  readonly #keys = new Map<number, Set<string>>();
  readonly #full = new Set<number>();

  /** Checks whether the rule has more places than are kept: no need to match it further. */
  isFull(ruleIndex: number): boolean {
    return this.#full.has(ruleIndex);
  }

  add(ruleIndex: number, texts: readonly SurfaceText[], textIndex: number, hit: DigestedHit): Kept {
    if (this.isFull(ruleIndex)) return 'known';
    if (hit.isRest) {
      this.#full.add(ruleIndex);
      return 'rest';
    }
    const keys = this.#keys.get(ruleIndex) ?? new Set();
    this.#keys.set(ruleIndex, keys);
    const tool = toolNameOf(texts, textIndex, hit);
    const key = JSON.stringify([hit.sha256, texts[textIndex]?.surface, tool]);
    if (keys.has(key)) return 'known';
    keys.add(key);
    if (keys.size <= MORE_PLACES_MAX + 1) return 'new';
    this.#full.add(ruleIndex);
    return 'rest';
  }
}
