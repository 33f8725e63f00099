/** Reads a run as a turn of its session's conversation: what the user said, the tools used, the answer. */
import { type RunTurn, TURN_UNITS, type TurnText } from '../model/run-page.ts';
import type { OutlinedSteps } from './run-outline.ts';
import { nameDigest, stepNameOf } from './step-name.ts';
import { extractInPieces } from './surfaces/reader/extract.ts';

const shown = (text: string): TurnText => ({
  text: text.slice(0, TURN_UNITS).replace(/[\ud800-\udbff]$/, ''),
  isCut: text.length > TURN_UNITS,
});

/**
 * Reads some steps of a run, one per turn of the event loop or a part of one. A call of a model sends the
 * earlier messages again: the last message of the first step with input is the new one.
 *
 * @param hiddenNames digests of names that contain matched text and are not shown
 */
export function* turnInPieces(
  { steps, owners }: OutlinedSteps,
  hiddenNames: ReadonlySet<string>,
): Generator<void, Omit<RunTurn, 'isWhole'>, void> {
  const tools = new Map<string, number>();
  let said: TurnText | null = null;
  let answered: TurnText | null = null;
  let at = 0;
  for (const extracted of extractInPieces([...steps.map(({ step }) => step), ...owners])) {
    yield;
    if (extracted === null) continue;
    const step = steps[at]?.step;
    at += 1;
    if (step === undefined) break;
    const { kind, texts, forms } = extracted;
    const own = texts.filter((_, index) => !forms.has(index));
    const input = own.findLast(({ surface }) => surface === 'step_input');
    const output = own.findLast(({ surface }) => surface === 'agent_output');
    if (input !== undefined) said ??= shown(input.text);
    if (output !== undefined) answered = shown(output.text);
    const name = stepNameOf(step);
    if (kind === 'tool' && !hiddenNames.has(nameDigest(name))) {
      tools.set(name, (tools.get(name) ?? 0) + 1);
    }
  }
  return { said, answered, tools: [...tools].map(([name, calls]) => ({ name, calls })) };
}
