/**
 * Where what a step took and gave stands, by the step's kind, for producers that tell both on keys
 * that mean the same on every step. Data only.
 */
import type { Place } from './convention.ts';

export const TOOK: Place = { tool: 'tool_args', else: 'step_input' };

export const GAVE: Place = {
  tool: 'tool_result',
  retriever: 'tool_result',
  llm: 'agent_output',
  agent: 'agent_output',
  else: 'step_output',
};
