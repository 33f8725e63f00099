/** Telling a trace export from a text, and turning an export into runs. */
import { expect, test } from 'vitest';

import { parseScanInput } from '../../src/cli/scan-input.ts';
import { OperatorError } from '../../src/errors.ts';

const TRACE = '5b8efff798038103d269b633813fc60c';

function exportOf(spans: object[]): Buffer {
  return Buffer.from(
    JSON.stringify({
      resourceSpans: [
        {
          resource: { attributes: [{ key: 'service.name', value: { stringValue: 'shop' } }] },
          scopeSpans: [{ scope: { name: 'agents' }, spans }],
        },
      ],
    }),
  );
}

const span = (spanId: string, name: string, start: string) => ({
  traceId: TRACE,
  spanId,
  name,
  startTimeUnixNano: start,
  endTimeUnixNano: '1795000000900000000',
  attributes: [{ key: 'gen_ai.tool.name', value: { stringValue: 'search' } }],
  events: [{ name: 'note', timeUnixNano: '1795000000000000001', attributes: [] }],
  flags: 0x300,
  droppedAttributesCount: 1,
  droppedEventsCount: 2,
});

test('anything that is no trace export is a text', () => {
  expect(parseScanInput(Buffer.from('ignore this'))).toEqual({ kind: 'text', text: 'ignore this' });
  expect(parseScanInput(Buffer.from('{"a": 1}'))).toEqual({ kind: 'text', text: '{"a": 1}' });
});

test('an export becomes runs, their steps in time order', () => {
  const input = parseScanInput(
    exportOf([
      span('eee19b7ec3c1b174', 'later', '1795000000500000000'),
      span('eee19b7ec3c1b173', 'earlier', '1795000000400000000'),
    ]),
  );
  if (input.kind !== 'runs') throw new Error('expected runs');
  const steps = input.runs.get(TRACE) ?? [];
  expect(steps.map(({ name }) => name)).toEqual(['earlier', 'later']);
  expect(steps[0]).toEqual({
    source: 'span',
    spanId: 'eee19b7ec3c1b173',
    parentSpanId: null,
    name: 'earlier',
    startUnixNano: '1795000000400000000',
    endUnixNano: '1795000000900000000',
    statusCode: 0,
    statusMessage: '',
    scopeName: 'agents',
    serviceName: 'shop',
    attributes: { 'gen_ai.tool.name': 'search' },
    events: [{ name: 'note', attributes: {}, timeUnixNano: '1795000000000000001' }],
    body: null,
    dropped: 3,
    hasRemoteParent: true,
  });
});

test('an export of logs becomes runs too; records without a trace belong to none', () => {
  const record = (traceId: string | undefined) => ({
    ...(traceId === undefined ? {} : { traceId }),
    timeUnixNano: '1795000000500000000',
    eventName: 'gen_ai.user.message',
    body: { stringValue: 'hello' },
  });
  const logs = { scopeLogs: [{ logRecords: [record(TRACE), record(undefined)] }] };
  const input = parseScanInput(Buffer.from(JSON.stringify({ resourceLogs: [logs] })));
  if (input.kind !== 'runs') throw new Error('expected runs');
  expect([...input.runs.keys()]).toEqual([TRACE]);
  expect(input.runs.get(TRACE)).toMatchObject([
    { source: 'log', name: 'gen_ai.user.message', body: 'hello' },
  ]);
});

test('log events of a product that sends no traces become runs by session and prompt', () => {
  const attribute = (key: string, stringValue: string) => ({ key, value: { stringValue } });
  const record = (promptId: string, name: string, time: string) => ({
    timeUnixNano: time,
    attributes: [
      attribute('session.id', 's-1'),
      attribute('prompt.id', promptId),
      attribute('event.name', name),
    ],
  });
  const logRecords = [
    record('p-1', 'tool_result', '1795000000500000000'),
    record('p-1', 'user_prompt', '1795000000400000000'),
    record('p-2', 'user_prompt', '1795000000600000000'),
  ];
  const scope = { name: 'com.anthropic.claude_code.events' };
  const body = { resourceLogs: [{ scopeLogs: [{ scope, logRecords }] }] };
  const input = parseScanInput(Buffer.from(JSON.stringify(body)));
  if (input.kind !== 'runs') throw new Error('expected runs');
  const events = [...input.runs.values()].map((steps) =>
    steps.map(({ attributes }) => attributes['event.name']),
  );
  expect(events).toEqual([['user_prompt', 'tool_result'], ['user_prompt']]);
});

test('records that are not read are reported', () => {
  const input = parseScanInput(exportOf([span('00', 'bad id', '1')]));
  expect(input).toMatchObject({ rejections: [{ reason: 'bad_span_id', count: 1 }] });
});

test('something that starts like an export and is not one is a clear error', () => {
  expect(() => parseScanInput(Buffer.from('{"resourceSpans": 7}'))).toThrow(OperatorError);
});

test('a span that is there again is one step, with another name two', () => {
  const one = span('eee19b7ec3c1b174', 'a', '1795000000500000000');
  const input = parseScanInput(
    Buffer.concat([
      exportOf([one, { ...one, name: 'b' }]),
      Buffer.from('\n'),
      exportOf([one]),
      Buffer.from('\n'),
    ]),
  );
  if (input.kind !== 'runs') throw new Error('expected runs');
  expect(input.runs.get(TRACE)?.map(({ name }) => name)).toEqual(['a', 'b']);
});
