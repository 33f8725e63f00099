/** Input of a client that a zod schema refuses: one error with every fault, which is answered 400. */
import type { z } from 'zod';

import { SluiceError } from '../../errors.ts';
import type { BodyOf } from '../api/openapi/component.ts';
import type { queryProblem } from '../api/openapi/error-schema.ts';

/** One fault: the path of a parameter or field, and what is wrong with it. */
type InputFault = BodyOf<typeof queryProblem>['errors'][number];

const MESSAGES = {
  bad_query: 'One or more query parameters are invalid.',
  bad_body: 'The body does not have the form that is needed here.',
};

export class InvalidInput extends SluiceError {
  readonly faults: readonly InputFault[];

  constructor(code: keyof typeof MESSAGES, faults: readonly InputFault[]) {
    super(code, MESSAGES[code]);
    this.faults = faults;
  }
}

/** @throws {InvalidInput} with every fault */
export function parseInput<Shape extends z.ZodType>(
  schema: Shape,
  value: unknown,
  code: keyof typeof MESSAGES,
): z.infer<Shape> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const faults = result.error.issues.map(({ path, message }) => ({
    path: path.join('.'),
    message,
  }));
  throw new InvalidInput(code, faults);
}
