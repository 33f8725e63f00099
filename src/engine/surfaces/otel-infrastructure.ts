/**
 * OpenTelemetry conventions outside GenAI whose text a rule can be about: database queries with
 * their parameters, exceptions. Data only. Status messages are no attribute: `extract.ts` reads
 * them.
 *
 * Stack traces and headers are left out: the program's own text, and secrets.
 */
import type { Convention, Place } from './convention.ts';

/** Where the text of a failure stands: it is what the tool, or the step, gave back. */
export const FAILURE_PLACE: Place = { tool: 'tool_result', else: 'step_output' };

export const OTEL_INFRASTRUCTURE: Convention = {
  name: 'opentelemetry-infrastructure',
  attributes: [
    { key: 'db.query.text', read: { as: 'text', place: 'query_text' } },
    { key: 'db.statement', read: { as: 'text', place: 'query_text' } },
    // Queries are sanitised, their parameters are not: injected text stands here.
    { prefix: 'db.query.parameter.', read: { as: 'text', place: 'query_text' } },
    { prefix: 'db.operation.parameter.', read: { as: 'text', place: 'query_text' } },
    { key: 'db.statement.parameters', read: { as: 'text', place: 'query_text' } },
    { key: 'exception.message', read: { as: 'text', place: FAILURE_PLACE } },
    { key: 'error.message', read: { as: 'text', place: FAILURE_PLACE } },
  ],
  events: [
    { event: 'exception', carries: 'attributes' },
    { event: 'gen_ai.client.operation.exception', carries: 'attributes' },
  ],
};
