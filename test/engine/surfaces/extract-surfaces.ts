/** The texts of all steps of a run in one list, as the tests of conventions compare them. */
import { extractSteps, type StepExtraction } from '../../../src/engine/surfaces/reader/extract.ts';
import type { Step, SurfaceText } from '../../../src/model/steps.ts';

interface Extraction extends Pick<StepExtraction, 'exceeded'> {
  /** by step, then in reading order */
  readonly texts: readonly SurfaceText[];
  readonly kinds: readonly StepExtraction['kind'][];
}

export function extractSurfaces(steps: readonly Step[]): Extraction {
  const extractions = [...extractSteps(steps)];
  return {
    texts: extractions.flatMap(({ texts }, step) =>
      texts.map(({ surface, text }) => ({ step, surface, text })),
    ),
    exceeded: extractions.reduce((sum, { exceeded }) => sum + exceeded, 0),
    kinds: extractions.map(({ kind }) => kind),
  };
}
