/**
 * AgentScope (agentscope-ai/agentscope `src/agentscope/tracing`): beside OpenTelemetry GenAI, the arguments
 * and the result of the traced function, as JSON. A chat's input is nowhere else. Data only.
 *
 * Left out: `agentscope.format.*`, names of functions.
 */
import type { Convention } from '../../reader/convention.ts';
import { INPUT_SURFACE, OUTPUT_SURFACE } from '../../reader/step-surfaces.ts';

export const AGENTSCOPE: Convention = {
  name: 'agentscope',
  attributes: [
    {
      key: 'agentscope.function.input',
      raw: 'input',
      read: {
        as: 'exchange',
        side: 'input',
        surface: INPUT_SURFACE,
        encoded: true,
        envelope: { take: ['args', 'kwargs'], beside: [] },
      },
    },
    {
      key: 'agentscope.function.output',
      raw: 'output',
      read: { as: 'exchange', side: 'output', surface: OUTPUT_SURFACE, encoded: true },
    },
  ],
};
