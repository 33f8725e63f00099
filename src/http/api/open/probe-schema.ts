/** The answers of the probes. */
import { z } from 'zod';

import { component } from '../openapi/component.ts';

export const health = component(
  'Health',
  z.object({ status: z.literal('healthy') }).describe('The process is up.'),
);

const probes = z
  .record(z.string(), z.enum(['ok', 'failing', 'timeout']))
  .describe('Probe to result; `db` is one of them.');
const degraded = z
  .array(z.string())
  .optional()
  .describe(
    'Optional parts that do not work: `redis`, `standby`, `replica`; absent when there are none.',
  );

export const ready = component(
  'Ready',
  z
    .object({ status: z.literal('ready'), probes, degraded })
    .describe('Every probe passes; each result is `ok`.'),
);

export const notReady = component(
  'NotReady',
  z
    .object({
      status: z.literal('not_ready'),
      failing: z.array(z.string()).min(1).describe('Names of the failing probes.'),
      probes,
      degraded,
    })
    .describe('A probe fails.'),
);
