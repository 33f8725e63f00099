/**
 * Owns the mapping from a corpus field to the surfaces that it reads (specification §1). Other fields
 * have no equivalent surface; none must be guessed.
 */
import { SURFACES, type Surface } from '../../model/steps.ts';

const FIELD_SURFACES: Readonly<Record<string, readonly Surface[]>> = {
  user_input: ['step_input', 'tool_args'],
  tool_response: ['tool_result', 'step_output', 'query_text'],
  tool_args: ['tool_args'],
  agent_output: ['agent_output'],
  tool_name: ['tool_name'],
  content: SURFACES,
};

/**
 * The surfaces a rule field reads, empty when the service has no such text.
 * @param field field name as the corpus writes it
 */
export function surfacesOf(field: string): readonly Surface[] {
  return Object.hasOwn(FIELD_SURFACES, field) ? (FIELD_SURFACES[field] ?? []) : [];
}
