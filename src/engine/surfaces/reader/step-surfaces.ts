/**
 * Owns the surfaces of a step's input, output and error by the step's kind, for products that write
 * them to the same attributes on every step. Data only.
 */
import type { SurfaceByKind } from './convention.ts';

export const INPUT_SURFACE: SurfaceByKind = { tool: 'tool_args', else: 'step_input' };

export const OUTPUT_SURFACE: SurfaceByKind = {
  tool: 'tool_result',
  retriever: 'tool_result',
  llm: 'agent_output',
  agent: 'agent_output',
  else: 'step_output',
};

/** An error or a log line is what the tool, or the step, returned. */
export const ERROR_SURFACE: SurfaceByKind = { tool: 'tool_result', else: 'step_output' };
