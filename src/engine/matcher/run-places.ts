/**
 * Owns the places of the rules of one run: the distinct hits of its texts, wherever the texts are, in the
 * order of time; one for each distinct matched text, surface and tool. An exception hides a finding only if it
 * covers all of them, so a rule that has hit is matched on. Bounded: what is past a bound is noted as one last
 * place, the rest, which no text can cover.
 */
import { MORE_PLACES_MAX } from '../../model/findings.ts';
import type { SurfaceText } from '../../model/steps.ts';
import type { ConditionMatcher, MatchScope } from './condition-matcher.ts';
import { matchSha256 } from './match-digest.ts';
import type { Found, Hit } from './match-rule.ts';
import { toolNameOf } from './matched-tool.ts';
import type { FoundHit, PreparedText, TextHit } from './prepared-text.ts';
import type { Placement, PreparedRun } from './run-texts.ts';

/**
 * Most hits of a condition in a text that are looked at: each is a search, which may read the text to
 * its end.
 */
export const TEXT_HITS_MAX = 256;

/** A hit with the digest of its matched text. */
interface DigestedHit extends TextHit {
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
function distinctHits(
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

class KeptPlaces {
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

interface Portion {
  readonly texts: readonly SurfaceText[];
  /** receives the places but the first one of each rule */
  readonly hits: Hit[];
  readonly scope: MatchScope;
  /** called when a text could not be searched to its end */
  readonly onFailure: (ruleIndex: number, error: unknown) => void;
}

export class RunPlaces {
  readonly #kept = new KeptPlaces();
  readonly #distinct = new Map<PreparedText, Map<ConditionMatcher, readonly DigestedHit[]>>();
  /** text → the conditions of `any` rules that hit it: it is a place wherever it is repeated */
  readonly #repeatable = new Map<PreparedText, Map<ConditionMatcher, FoundHit>>();

  readonly isFull = (ruleIndex: number): boolean => this.#kept.isFull(ruleIndex);

  /** Notes the first place of a rule, which is its hit. */
  begin(ruleIndex: number, { placement, first }: Found, texts: readonly SurfaceText[]): void {
    const [hit] = distinctHits(textOf(placement, texts), first.hit, []);
    if (hit !== undefined) this.#kept.add(ruleIndex, texts, placement.textIndex, hit);
  }

  /** Notes texts that an `any` rule hits, for `addRepeated`. */
  note(found: readonly Found[]): void {
    for (const { matcher, placement, first } of found) {
      const matchers = this.#repeatable.get(placement.text) ?? new Map();
      this.#repeatable.set(placement.text, matchers.set(matcher, first));
    }
  }

  /** Adds the places of a text that a rule hits. */
  add({ matcher, placement, first }: Found, portion: Portion): void {
    const { texts, hits } = portion;
    const { textIndex, text } = placement;
    const { ruleIndex } = matcher;
    if (this.isFull(ruleIndex)) return;
    const found = this.#distinctIn(text, matcher, first, textOf(placement, texts), portion);
    for (const { sha256, isRest, ...hit } of found) {
      const kept = this.#kept.add(ruleIndex, texts, textIndex, { ...hit, sha256, isRest });
      if (kept === 'known') continue;
      const place = { ruleIndex, ...hit, conditionIndex: matcher.condition.index, textIndex };
      hits.push(kept === 'rest' ? { ...place, isRest: true } : place);
    }
  }

  /** Adds the places of all noted texts; of texts that repeat one of an earlier portion, too. */
  *addRepeated(run: PreparedRun, portion: Portion, isOver: () => boolean): Generator<void, void> {
    if (this.#repeatable.size === 0) return;
    for (const placement of run.steps.flat()) {
      for (const [matcher, first] of this.#repeatable.get(placement.text) ?? []) {
        if (!matcher.surfaces.has(placement.surface)) continue;
        const { textIndex } = placement;
        const hit = { ...first.hit, conditionIndex: matcher.condition.index, textIndex };
        this.add({ matcher, placement, hit, first }, portion);
        if (isOver()) yield;
      }
    }
  }

  /** The distinct hits of a text; of one that cannot be searched to its end, the first one. */
  #distinctIn(
    text: PreparedText,
    matcher: ConditionMatcher,
    first: FoundHit,
    written: string,
    { scope, onFailure }: Portion,
  ): readonly DigestedHit[] {
    const ofText = this.#distinct.get(text) ?? new Map<ConditionMatcher, readonly DigestedHit[]>();
    this.#distinct.set(text, ofText);
    const known = ofText.get(matcher);
    if (known !== undefined) return known;
    let found: readonly DigestedHit[];
    try {
      found = distinctHits(written, first.hit, matcher.searchOn(text, first, scope));
    } catch (error) {
      onFailure(matcher.ruleIndex, error);
      found = distinctHits(written, first.hit, []);
    }
    ofText.set(matcher, found);
    return found;
  }
}

function textOf({ textIndex }: Placement, texts: readonly SurfaceText[]): string {
  const text = texts[textIndex]?.text;
  if (text === undefined) throw new RangeError(`no text ${textIndex} of ${texts.length}`);
  return text;
}
