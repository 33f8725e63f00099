/**
 * Owns which of the steps with a matched text a place is in: the lowest of the first ones. The span of an
 * agent begins before the spans below it and repeats their texts, so the first step alone would be the root.
 */
import type { FurtherPlace } from '../model/findings.ts';
import type { Step, SurfaceText } from '../model/steps.ts';
import { StepAncestors } from './step-ancestors.ts';

/** A text with places in it, in the lowest step so far. */
interface PlacedText<Place> {
  readonly surface: SurfaceText['surface'];
  readonly text: string;
  step: Step;
  readonly places: Place[];
}

export class LowestPlaces<Place> {
  readonly #ancestors = new StepAncestors();
  readonly #steps: readonly Step[];
  /** by the length of their texts, which is compared first */
  readonly #placed = new Map<number, PlacedText<Place>[]>();
  readonly #stepOf = new Map<FurtherPlace, Step>();

  constructor(steps: readonly Step[]) {
    this.#steps = steps;
    for (const step of steps) this.#ancestors.add(step);
  }

  note(place: FurtherPlace, stepIndex: number): void {
    const step = this.#steps[stepIndex];
    if (step !== undefined) this.#stepOf.set(place, step);
  }

  /** Notes a place of a rule that needs one of its conditions only. */
  begin(place: Place, { step: index, surface, text }: SurfaceText): void {
    const step = this.#steps[index];
    if (step === undefined || step.source !== 'span') return;
    const placed = this.#placed.get(text.length) ?? [];
    this.#placed.set(text.length, placed);
    const known = placed.find(
      (one) => one.step === step && one.surface === surface && one.text === text,
    );
    if (known === undefined) placed.push({ surface, text, step, places: [place] });
    else known.places.push(place);
  }

  /**
   * Finds steps below the places that have their text on its surface.
   *
   * @param texts of the next steps, in time order
   * @param move is called with a place and the index of the text; returns whether the place is there now
   */
  lower(texts: readonly SurfaceText[], move: (place: Place, textIndex: number) => boolean): void {
    for (const [textIndex, { step: index, surface, text }] of texts.entries()) {
      const step = this.#steps[index];
      if (step === undefined) continue;
      for (const placed of this.#placed.get(text.length) ?? []) {
        if (placed.surface !== surface || placed.text !== text) continue;
        if (!this.#ancestors.isBelow(step, placed.step)) continue;
        const areMoved = placed.places.map((place) => move(place, textIndex));
        if (areMoved.includes(true)) placed.step = step;
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
