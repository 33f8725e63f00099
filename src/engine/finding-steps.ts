/** Owns which step a finding is in, although more steps may have arrived since it was evaluated. */
import type { Finding } from '../model/findings.ts';
import type { Step } from '../model/steps.ts';

export interface NumberedStep {
  readonly step: Step;
  /** in the run's time order, from 1 */
  readonly number: number;
  /** number of steps of the run before it with its source, start, span id and day of arrival */
  readonly twin: number;
}

/**
 * Returns the findings of each step of a page. A finding's step has the same source, start, span and
 * day of arrival; among several such steps the finding's `twin` number decides. Retention removes steps
 * a day at a time, so these numbers stay valid.
 */
export function findingsByStep<Numbered extends NumberedStep>(
  steps: readonly Numbered[],
  findings: readonly Finding[],
): Map<Numbered, Finding[]> {
  const bySpan = new Map<string | null, Numbered[]>();
  for (const numbered of steps) {
    const same = bySpan.get(numbered.step.spanId);
    if (same === undefined) bySpan.set(numbered.step.spanId, [numbered]);
    else same.push(numbered);
  }
  const byStep = new Map<Numbered, Finding[]>();
  for (const finding of findings) {
    const found = stepOf(bySpan.get(finding.stepSpanId) ?? [], finding);
    if (found !== undefined) byStep.set(found, [...(byStep.get(found) ?? []), finding]);
  }
  return byStep;
}

/** @param steps with the finding's span id, in time order */
function stepOf<Numbered extends NumberedStep>(
  steps: readonly Numbered[],
  { place }: Finding,
): Numbered | undefined {
  return steps.find(
    ({ step: { source, startUnixNano, arrivedOn }, twin }) =>
      source === place.source &&
      startUnixNano === place.startUnixNano &&
      (place.arrivedOn === undefined || arrivedOn === place.arrivedOn) &&
      twin === place.twin,
  );
}
