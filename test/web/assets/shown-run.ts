/** A run of five steps, the second with steps below it, as a page shows it. */

import type { ShownStep } from '../../../src/model/run-page.ts';
import type { Surface } from '../../../src/model/steps.ts';
import { NO_USAGE } from '../../../src/model/usage.ts';
import { runPage } from '../../../src/web/app/run.ts';
import { hex8, hex16 } from '../../support/rows.ts';
import { finding, NOW_MS, outline, run, viewer } from '../app/fixtures.ts';
import { LOOK } from './script-page.ts';

const DEPTHS = [0, 1, 2, 1, 0];
const STEPS = DEPTHS.map((depth, at): ShownStep => {
  const name = `step ${at + 1}`;
  const textOf = (surface: Surface): ShownStep['texts'][number] => {
    const text = `${surface} of ${name}`;
    return { surface, index: 0, length: text.length, start: 0, text, marks: [], isEarlier: false };
  };
  return {
    number: at + 1,
    depth,
    outline: outline({ name, spanId: hex8(at + 1) }),
    usage: NO_USAGE,
    model: null,
    details: null,
    findings: [],
    texts: [textOf('tool_result'), textOf('tool_args')],
    open: null,
    snippet: null,
    earlier: 0,
    textsLeftOut: 0,
  };
});
const NUMBERS = STEPS.map(({ number }) => number);
const found = (id: number, step: number) => {
  const { place } = finding();
  if (place === null) throw new Error('the fixture has a place');
  return finding({ id: hex16(id), place: { ...place, step } });
};
export const RUN_PATH = `/app/runs/${hex16(0xc1)}`;

/** The page of a run that shows one step. @param listed numbers of the steps in its tree */
export function runOf(number: number, listed: readonly number[] = NUMBERS): string {
  return runPage(LOOK, viewer(), {
    run: run(),
    wait: null,
    shown: {
      steps: STEPS,
      places: new Map(),
      count: STEPS.length,
      pageSteps: 50,
      sought: number,
      title: null,
      tree: STEPS.filter((step) => listed.includes(step.number)).map((step) => ({
        kind: 'step' as const,
        number: step.number,
        depth: step.depth,
        below: null,
      })),
      usage: null,
      startUnixNano: outline().startUnixNano,
      endUnixNano: outline().endUnixNano,
    },
    open: null,
    finding: null,
    search: null,
    findings: [found(0xa1, 1), found(0xa3, 5)],
    isList: false,
    titleOf: (id) => `title of ${id}`,
    query: '',
    isRedacted: false,
    nowMs: NOW_MS,
  }).text;
}
/** The step of an address; the third without one. */
export const stepOf = (path: string) =>
  Number(new URL(path, 'http://x').searchParams.get('step') ?? 3);
