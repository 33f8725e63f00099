/**
 * OpenTelemetry conventions outside GenAI whose text a rule can be about: database queries with
 * their parameters, HTTP bodies, commands, exceptions, and what a program logs inside a span. Data
 * only. Status messages are no attribute: `extract.ts` reads them.
 *
 * Left out: stack traces (the program's own text), headers (secrets) and addresses (`url.full`: only
 * those that a tool requests would matter, and a step does not show whether it is client or server).
 */
import type { AttributeRow, Convention } from '../../reader/convention.ts';
import { ERROR_SURFACE, INPUT_SURFACE } from '../../reader/step-surfaces.ts';
import { structure, text } from '../rows.ts';

/** All are beside a step's input and output (`aside`). */
const ROWS: readonly AttributeRow[] = [
  { key: 'db.query.text', read: text('query_text') },
  { key: 'db.statement', read: text('query_text') },
  // Queries are sanitised, their parameters are not: injected text is here.
  { prefix: 'db.query.parameter.', read: text('query_text') },
  { prefix: 'db.operation.parameter.', read: text('query_text') },
  { prefix: 'db.elasticsearch.path_parts.', read: text('query_text') },
  { key: 'db.statement.parameters', read: text('query_text') },
  // opentelemetry-js-contrib, on `enhancedDatabaseReporting`
  { key: 'db.postgresql.values', read: text('query_text') },
  { key: 'db.mysql.values', read: text('query_text') },
  { key: 'graphql.document', read: text('query_text') },
  { key: 'http.request.body.content', read: structure(INPUT_SURFACE) },
  { key: 'http.response.body.content', read: structure(ERROR_SURFACE) },
  { key: 'process.command_line', read: text('tool_args') },
  { key: 'process.command_args', read: structure('tool_args') },
  { key: 'exception.message', read: text(ERROR_SURFACE) },
  { key: 'error.message', read: text(ERROR_SURFACE) },
];

export const OTEL_INFRASTRUCTURE: Convention = {
  name: 'opentelemetry-infrastructure',
  attributes: ROWS.map((row) => ({ ...row, aside: true })),
  events: [
    { event: 'exception', carries: 'attributes' },
    { event: 'gen_ai.client.operation.exception', carries: 'attributes' },
  ],
  unnamed: [{ key: 'body', read: structure(ERROR_SURFACE) }],
  run: {
    names: {
      sessionId: { 'session.id': 30 },
      userId: { 'user.id': 10, 'enduser.id': 30, 'user.email': 100, 'user.name': 130 },
    },
    failure: { key: 'error.type', anyText: true },
  },
};
