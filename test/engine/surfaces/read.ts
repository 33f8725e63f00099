/** What the tests of conventions compare of a step: its texts as `surface: text`, and events on it. */

import type { JsonObject } from '../../../src/model/json.ts';
import type { Step } from '../../../src/model/steps.ts';
import { extractSurfaces } from './extract-surfaces.ts';

/** The texts of steps, in reading order. */
export function read(...steps: Step[]): string[] {
  return extractSurfaces(steps).texts.map(({ surface, text }) => `${surface}: ${text}`);
}

/** The step with one event. */
export function withEvent(step: Step, name: string, attributes: JsonObject): Step {
  return { ...step, events: [{ name, attributes }] };
}
