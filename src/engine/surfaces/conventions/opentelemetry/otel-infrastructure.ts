/**
 * OpenTelemetry conventions outside GenAI whose text a rule can be about: database queries with
 * their parameters, HTTP bodies, commands, exceptions, and what a program logs inside a span. Data
 * only. Status messages are no attribute: `extract.ts` reads them.
 *
 * Stack traces and headers are left out: the program's own text, and secrets; and addresses
 * (`url.full`): they would matter where a tool calls out, and steps do not tell which side they are.
 */
import type { AttributeRow, Convention, Place } from '../../reader/convention.ts';

/** Where the text of a failure, and of a log, stands: it is what the tool, or the step, gave back. */
export const FAILURE_PLACE: Place = { tool: 'tool_result', else: 'step_output' };

/** On a step that tells what it took and gave these stand beside it. */
const ROWS: readonly AttributeRow[] = [
  { key: 'db.query.text', read: { as: 'text', place: 'query_text' } },
  { key: 'db.statement', read: { as: 'text', place: 'query_text' } },
  // Queries are sanitised, their parameters are not: injected text stands here.
  { prefix: 'db.query.parameter.', read: { as: 'text', place: 'query_text' } },
  { prefix: 'db.operation.parameter.', read: { as: 'text', place: 'query_text' } },
  { prefix: 'db.elasticsearch.path_parts.', read: { as: 'text', place: 'query_text' } },
  { key: 'db.statement.parameters', read: { as: 'text', place: 'query_text' } },
  // opentelemetry-js-contrib, on `enhancedDatabaseReporting`
  { key: 'db.postgresql.values', read: { as: 'text', place: 'query_text' } },
  { key: 'db.mysql.values', read: { as: 'text', place: 'query_text' } },
  { key: 'graphql.document', read: { as: 'text', place: 'query_text' } },
  {
    key: 'http.request.body.content',
    mayBeCut: true,
    read: { as: 'structure', place: { tool: 'tool_args', else: 'step_input' } },
  },
  {
    key: 'http.response.body.content',
    mayBeCut: true,
    read: { as: 'structure', place: FAILURE_PLACE },
  },
  { key: 'process.command_line', read: { as: 'text', place: 'tool_args' } },
  { key: 'process.command_args', read: { as: 'structure', place: 'tool_args' } },
  { key: 'exception.message', read: { as: 'text', place: FAILURE_PLACE } },
  { key: 'error.message', read: { as: 'text', place: FAILURE_PLACE } },
];

export const OTEL_INFRASTRUCTURE: Convention = {
  name: 'opentelemetry-infrastructure',
  attributes: ROWS.map((row) => ({ ...row, aside: true })),
  events: [
    { event: 'exception', carries: 'attributes' },
    { event: 'gen_ai.client.operation.exception', carries: 'attributes' },
  ],
  unnamed: [{ key: 'body', read: { as: 'structure', place: FAILURE_PLACE } }],
};
