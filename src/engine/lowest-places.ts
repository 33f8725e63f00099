/**
 * Owns which of the steps with the matched text a finding is in: the lowest of the first ones. The span of an
 * agent begins before the spans below it and repeats their texts, so the first step alone would be the root.
 */
import type { FurtherPlace } from '../model/findings.ts';
import type { Step, SurfaceText } from '../model/steps.ts';
import { StepAncestors } from './step-ancestors.ts';

interface FirstPlace {
  readonly ruleIndex: number;
  readonly surface: SurfaceText['surface'];
  readonly text: string;
  readonly step: Step;
}

export class LowestPlaces {
  readonly #ancestors = new StepAncestors();
  readonly #steps: readonly Step[];
  /** by the length of their texts, which is compared first */
  readonly #firsts = new Map<number, FirstPlace[]>();
  readonly #stepOf = new Map<FurtherPlace, Step>();

  constructor(steps: readonly Step[]) {
    this.#steps = steps;
    for (const step of steps) this.#ancestors.add(step);
  }

  note(place: FurtherPlace, stepIndex: number): void {
    const step = this.#steps[stepIndex];
    if (step !== undefined) this.#stepOf.set(place, step);
  }

  /** Notes the first place of a rule that needs one of its conditions only. */
  begin(ruleIndex: number, { step: index, surface, text }: SurfaceText): void {
    const step = this.#steps[index];
    if (step === undefined || step.source !== 'span') return;
    const firsts = this.#firsts.get(text.length) ?? [];
    this.#firsts.set(text.length, [...firsts, { ruleIndex, surface, text, step }]);
  }

  /**
   * Finds steps below the first place of a rule that have its text on its surface.
   *
   * @param texts of the next steps, in time order
   * @param move is called with the index of the text; returns whether the rule's first place is there now
   */
  lower(
    texts: readonly SurfaceText[],
    move: (ruleIndex: number, textIndex: number) => boolean,
  ): void {
    for (const [textIndex, { step: index, surface, text }] of texts.entries()) {
      const firsts = this.#firsts.get(text.length);
      const step = this.#steps[index];
      if (firsts === undefined || step === undefined) continue;
      for (const [at, first] of firsts.entries()) {
        if (first.surface !== surface || first.text !== text) continue;
        if (!this.#ancestors.isBelow(step, first.step)) continue;
        if (move(first.ruleIndex, textIndex)) firsts[at] = { ...first, step };
      }
    }
  }

  /** Returns the places of a rule, the one first that is lowest below the first and has its match. */
  inOrder(places: readonly FurtherPlace[]): readonly FurtherPlace[] {
    let [lowest] = places;
    for (const place of places) {
      if (lowest === undefined || place.isRest || place.matchSha256 !== lowest.matchSha256)
        continue;
      const [step, upper] = [this.#stepOf.get(place), this.#stepOf.get(lowest)];
      if (step !== undefined && upper !== undefined && this.#ancestors.isBelow(step, upper)) {
        lowest = place;
      }
    }
    if (lowest === undefined || lowest === places[0]) return places;
    return [lowest, ...places.filter((place) => place !== lowest)];
  }
}
