/** Input of a client that a zod schema refuses: one error with every fault, which is answered 400. */
import type { z } from 'zod';

import { SluiceError } from '../../errors.ts';
import type { BodyOf } from '../api/openapi/component.ts';
import type { queryProblem } from '../api/openapi/error-schema.ts';

/** One fault: the path of a parameter or field, and what is wrong with it. */
export type InputFault = BodyOf<typeof queryProblem>['errors'][number];

const MESSAGES = {
  bad_path: 'The path is invalid.',
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

export function parseInput<Shape extends z.ZodType>(
  schema: Shape,
  value: unknown,
  code: keyof typeof MESSAGES,
  found: readonly InputFault[] = [],
): z.infer<Shape> {
  const result = schema.safeParse(value);
  if (result.success && found.length === 0) return result.data;
  const issues = result.success ? [] : result.error.issues;
  const faults = issues.map(({ path, message }) => ({ path: path.join('.'), message }));
  throw new InvalidInput(code, [...found, ...faults]);
}
