/**
 * Owns the reading of one value as a convention's row says: plain text, a structure, messages, or
 * messages only where somebody talks. Pure; knows neither steps nor conventions.
 */
import type { JsonValue, Surface } from '../../../model.ts';
import type { Budget } from './budget.ts';
import type { Place, Reading, Side, StepKind } from './convention.ts';
import { takeOff } from './envelope.ts';
import { type Piece, place } from './message-parts.ts';
import { readExchange, readMessages } from './messages.ts';
import { joinChunks, joinSaid } from './streamed-messages.ts';
import { open, stringsOf, textsOf } from './value-text.ts';

/** How a value is read by itself. */
export type ValueReading = Exclude<Reading, { as: 'events' }>;

/** Where text without an author stands, by the side it was found on. */
export const UNSAID = {
  input: { tool: 'tool_args', retriever: 'step_input', else: 'step_input' },
  output: { tool: 'tool_result', retriever: 'tool_result', else: 'agent_output' },
} as const satisfies Record<Side, Place>;

/** The surface a place means on a step of that kind. */
export function resolve(where: Place, kind: StepKind): Surface {
  return typeof where === 'string' ? where : (where[kind] ?? where.else);
}

/**
 * The texts of a value.
 * @param value plain JSON
 * @param kind of the step it stands on
 */
export function readValue(
  value: JsonValue,
  read: ValueReading,
  kind: StepKind,
  budget: Budget,
): Piece[] {
  if (read.as === 'messages') return readTold(value, read, kind, budget);
  if (read.as !== 'text') return readInside(value, read, kind, budget);
  const texts = (Array.isArray(value) ? value : [value]).flatMap((one) => textsOf(one, budget));
  return place(resolve(read.place, kind), texts);
}

/** Messages, in an envelope or not, and in one piece or not. */
function readTold(
  value: JsonValue,
  { side, envelope, streamed }: Extract<Reading, { as: 'messages' }>,
  kind: StepKind,
  budget: Budget,
): Piece[] {
  const unsaid = resolve(UNSAID[side], kind);
  const { names, values } = takeOff(value, envelope, budget);
  const whole = streamed === true ? joinChunks(values) : values;
  const pieces = whole.flatMap((one) =>
    // What an envelope holds is as it was said.
    (one === value ? readMessages : readExchange)(one, side, unsaid, budget),
  );
  return [...readNames(names, budget), ...(streamed === true ? joinSaid(pieces) : pieces)];
}

/** A string that its producer wrote as JSON. */
const QUOTED = /^\s*"/;

/** What is inside an envelope, if there is one. */
function readInside(
  value: JsonValue,
  read: Extract<Reading, { as: 'structure' | 'exchange' }>,
  kind: StepKind,
  budget: Budget,
): Piece[] {
  const surface = resolve(read.place, kind);
  const isTold = read.as === 'exchange' && kind !== 'tool' && kind !== 'retriever';
  const isEncoded = isTold && read.encoded === true;
  if (isEncoded && typeof value === 'string' && QUOTED.test(value)) {
    return readExchange(open(value, budget, 1), read.side, surface, budget);
  }
  const { names, values } = takeOff(value, read.envelope, budget);
  return [
    ...readNames(names, budget),
    ...values.flatMap((one) => {
      if (!isTold) return place(surface, textsOf(one, budget));
      // What an envelope holds is as it was said.
      const readOne = isEncoded && one === value ? readMessages : readExchange;
      return readOne(one, read.side, surface, budget);
    }),
  ];
}

function readNames(names: readonly JsonValue[], budget: Budget): Piece[] {
  return place(
    'tool_name',
    names.flatMap((name) => stringsOf(name, budget)),
  );
}
