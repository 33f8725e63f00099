/** The runs and findings of a client's conversation in Sluice, and whether they are right. */
import type { Surface } from '../../src/model/steps.ts';
import { MARKS } from './story.ts';

export type Place = keyof typeof MARKS;

/** Whose text is on which surface; what a chain or a program returns is step_output. */
const EXPECTED: Readonly<Record<Place, readonly Surface[]>> = {
  user: ['step_input'],
  toolArgs: ['tool_args'],
  toolResult: ['tool_result', 'step_output'],
  answer: ['agent_output', 'step_output'],
  system: [],
  description: [],
};

/** Places of the conversation; the other two are the operator's. */
const CONVERSATION = ['user', 'toolArgs', 'toolResult', 'answer'] as const;

export interface ReadText {
  readonly surface: Surface;
  readonly text: string;
}

export interface RunFacts {
  readonly name: string;
  readonly checked: string;
  readonly gaps: readonly string[];
}

export interface Outcome {
  readonly runs: readonly RunFacts[];
  /** the surfaces on which each plant was read */
  readonly surfaces: Readonly<Record<Place, readonly Surface[]>>;
  /** plants on a surface that is not theirs, as `user on tool_result` */
  readonly wrong: readonly string[];
  /** plants of the conversation that did not arrive */
  readonly missing: readonly Place[];
  /** whether a run says that text is missing */
  readonly shown: boolean;
}

/** @param echoesCommand whether the tool's result holds its arguments, too */
export function outcomeOf(
  runs: readonly RunFacts[],
  texts: readonly ReadText[],
  echoesCommand = false,
): Outcome {
  const on = (place: Place): Surface[] => {
    const found = texts.filter(({ text }) => text.includes(MARKS[place]));
    return [...new Set(found.map(({ surface }) => surface))].sort();
  };
  const places = Object.keys(MARKS) as Place[];
  const surfaces = Object.fromEntries(places.map((place) => [place, on(place)])) as Record<
    Place,
    Surface[]
  >;
  return {
    runs,
    surfaces,
    wrong: places.flatMap((place) =>
      surfaces[place]
        .filter((surface) => !EXPECTED[place].includes(surface))
        .filter((surface) => !(echoesCommand && place === 'toolArgs' && surface === 'tool_result'))
        .map((surface) => `${place} on ${surface}`),
    ),
    missing: CONVERSATION.filter(
      (place) => !surfaces[place].includes(EXPECTED[place][0] as Surface),
    ),
    shown: runs.some(
      ({ checked, gaps }) =>
        gaps.length > 0 || checked === 'nothing' || checked === 'tool_names_only',
    ),
  };
}
