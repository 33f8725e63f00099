/**
 * OpenTelemetry conventions outside GenAI (semantic-conventions `docs/database`, `docs/http`,
 * `docs/exceptions`, attribute registry) and what opentelemetry-js-contrib adds. Contents are
 * invented.
 */
import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../../../../src/model/json.ts';
import type { Step } from '../../../../../src/model/steps.ts';
import { log, operation, span } from '../../../steps.ts';
import { extractSurfaces } from '../../extract-surfaces.ts';
import { read, withEvent } from '../../read.ts';

describe('attributes', () => {
  it.each<[string, JsonObject, string[]]>([
    [
      'a query and its parameters',
      {
        'db.query.text': 'SELECT * FROM t WHERE a = $1',
        'db.query.parameter.0': 'p',
        'db.query.summary': 'SELECT t',
        'db.collection.name': 't',
        'db.system.name': 'postgresql',
      },
      ['query_text: SELECT * FROM t WHERE a = $1', 'query_text: p'],
    ],
    [
      'values of node-postgres',
      { 'db.postgresql.values': ['p', 'q'] },
      ['query_text: p', 'query_text: q'],
    ],
    ['values of mysql', { 'db.mysql.values': 'p' }, ['query_text: p']],
    ['parts of a path', { 'db.elasticsearch.path_parts.doc_id': 'p' }, ['query_text: p']],
    [
      'GraphQL',
      { 'graphql.document': 'query { me }', 'graphql.operation.name': 'me' },
      ['query_text: query { me }'],
    ],
    [
      'bodies',
      {
        'http.request.method': 'POST',
        'http.request.body.content': '{"a":"in"}',
        'http.response.body.content': 'out',
        'http.request.header.authorization': ['Bearer secret'],
      },
      ['step_input: {"a":"in"}', 'step_input: in', 'step_output: out'],
    ],
    [
      'a body that was cut',
      { 'http.request.body.content': '{"a":"in' },
      ['step_input: {"a":"in', 'step_input: in'],
    ],
    [
      'a command',
      { 'process.command_line': 'rm -rf /', 'process.command_args': ['rm', '-rf', '/'] },
      ['tool_args: rm -rf /', 'tool_args: ["rm","-rf","/"]', 'tool_args: rm\n-rf\n/'],
    ],
    ['an address', { 'url.full': 'https://a.example/?q=x', 'http.url': 'https://a.example' }, []],
  ])('%s', (_what, attributes, expected) => {
    expect(read(span({ attributes }))).toEqual(expected);
  });

  it('bodies of a tool', () => {
    const attributes = { 'http.request.body.content': 'in', 'http.response.body.content': 'out' };
    expect(read(operation('execute_tool', attributes))).toEqual([
      'tool_args: in',
      'tool_result: out',
    ]);
  });

  it('an exception without its trace of calls', () => {
    const step = withEvent(span(), 'exception', {
      'exception.type': 'Error',
      'exception.message': 'bad',
      'exception.stacktrace': 'Error: bad\n at a.ts',
    });
    expect(read(step)).toEqual(['step_output: bad']);
  });
});

describe('log records that name no event', () => {
  it.each<[string, Step['body'], string[]]>([
    ['text', 'mail sent', ['step_output: mail sent']],
    [
      'a structure',
      { a: 'mail sent' },
      ['step_output: {"a":"mail sent"}', 'step_output: mail sent'],
    ],
    ['bytes', { $bytes: 'aGk=' }, []],
    ['nothing', null, []],
  ])('%s', (_what, body, expected) => {
    expect(read(log({ body }))).toEqual(expected);
  });

  it('are output of their span, and not read without one', () => {
    const record = log({ body: 'mail sent' });
    expect(read(operation('execute_tool'), record)).toEqual(['tool_result: mail sent']);
    expect(read(operation('chat'), record)).toEqual(['step_output: mail sent']);
    expect(read({ ...record, spanId: null })).toEqual([]);
  });

  it('of a span that is not read are not read', () => {
    const pending = span({ attributes: { 'logfire.span_type': 'pending_span' } });
    expect(read(pending, log({ body: 'mail sent' }))).toEqual([]);
  });

  it('have their attributes read too', () => {
    const record = log({ body: 'request failed', attributes: { 'exception.message': 'bad' } });
    expect(read(record)).toEqual(['step_output: bad', 'step_output: request failed']);
  });

  it('are none that another row is about', () => {
    const body: JsonValue = { content: 'Will it rain?' };
    const message = ['step_input: Will it rain?'];
    expect(read(log({ name: 'gen_ai.user.message', body }))).toEqual(message);
    const attributes = { 'event.name': 'gen_ai.user.message' };
    expect(read(log({ attributes, body }))).toEqual(message);
    expect(read(log({ attributes: { event_name: 'gen_ai.user.message' }, body }))).toEqual(message);
    // Claude Code names an event in the body, and once more in an attribute.
    const named = { 'event.name': 'auth' };
    expect(read(log({ attributes: named, body: 'claude_code.auth' }))).toEqual([]);
    expect(read(log({ name: 'app.started', body: 'started' }))).toEqual([]);
  });

  it('do not make their own kind', () => {
    const steps = [operation('execute_tool'), log({ body: 'x' })];
    expect(extractSurfaces(steps).kinds).toEqual(['tool', 'tool']);
  });
});
