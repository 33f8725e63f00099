/** `GET /platform/v1/logs`: the newest log records: query, route, body and operation. */
import { z } from 'zod';
import {
  type BlockCursor,
  LOG_LEVEL_NAMES,
  LOGS_NOT_SEARCHED,
  type LogFilter,
  type LogLine,
} from '../../../model/shown/logs.ts';
import { json } from '../../transport/answers.ts';
import { hexId, momentOrAgo, parseQuery, toDate, wholeNumber } from '../../transport/input.ts';
import type { ApiContext, AuthorizedHandler } from '../authorized.ts';
import {
  type BodyOf,
  bodyFrom,
  component,
  count,
  hex16,
  nextCursor,
  timestamp,
} from '../openapi/component.ts';
import {
  badQuery,
  example,
  found,
  type Operation,
  READ,
  READ_REFUSALS,
} from '../openapi/operation.ts';
import { RUN, TRACE_ID } from '../otlp/otlp-examples.ts';
import { redacted, searchedText } from '../runs/run-routes.ts';
import { isoOfNanos } from '../runs/run-schema.ts';

const LIMIT_DEFAULT = 100;
const LIMIT_MAX = 500;
const NAME_CHARS_MAX = 256;

const CURSOR = /^([hp])(\d{4}-\d\d-\d\d)\.([0-9a-f]{32})\.(\d{1,9})$/;

export const logCursor = z.string().transform((text, context): BlockCursor => {
  const [, stage, day, blockId, skip] = CURSOR.exec(text) ?? [];
  if (day !== undefined && blockId !== undefined) {
    return { day, isHot: stage === 'h', blockId, skip: Number(skip) };
  }
  context.addIssue({ code: 'custom', message: 'must be a next_cursor of this list' });
  return z.NEVER;
});

export const toLogCursor = (next: BlockCursor | null): string | null =>
  next === null ? null : `${next.isHot ? 'h' : 'p'}${next.day}.${next.blockId}.${next.skip}`;

export const logsQuery = z.object({
  since: momentOrAgo
    .optional()
    .describe('Only records of then or later; `24h`, `7d`: that long before now.'),
  until: momentOrAgo.optional().describe('Only records from before.'),
  level: z
    .enum(LOG_LEVEL_NAMES)
    .optional()
    .describe('Only records of this severity or a higher one.'),
  service: z
    .string()
    .max(NAME_CHARS_MAX)
    .optional()
    .describe('Only records whose service contains this text, in any case.'),
  run_id: hexId.optional().describe('Only records of this run.'),
  text: searchedText
    .optional()
    .describe(
      'Only records with this text in their body, an attribute or the name of their event. A to Z count as a to z.',
    ),
  cursor: logCursor.optional().describe('`next_cursor` of the page before.'),
  limit: wholeNumber(1, LIMIT_MAX, LIMIT_DEFAULT).describe('Records on a page.'),
});

export const logFilterOf = (query: z.infer<typeof logsQuery>, nowMs: number): LogFilter => ({
  since: toDate(query.since, nowMs),
  until: toDate(query.until, nowMs),
  level: query.level,
  service: query.service,
  runId: query.run_id,
  text: query.text,
});

/** Blocks that could not be read, in answers about log records and metrics. */
export const unreadableBlocks = z
  .array(z.object({ day: z.iso.date(), records: count('What the block held.') }))
  .describe('Blocks that are damaged or missing, by the UTC day of their arrival.');

const logRecord = component(
  'LogRecord',
  z
    .object({
      time: timestamp('Its time, else when it was observed; null without both.').nullable(),
      level: z.enum(LOG_LEVEL_NAMES).nullable().describe('Its severity; null if unknown.'),
      service: z.string().nullable().describe('The service, as sent; null if unknown.'),
      event_name: z.string().nullable().describe('As sent; null without one, or if redacted.'),
      text: z.string().nullable().describe('The beginning of its body; null if redacted.'),
      attributes: z
        .string()
        .nullable()
        .describe('The beginning of its attributes, as `key=value`; null if redacted.'),
      cut: z.boolean().describe('The text or the attributes are longer.'),
      run_id: hex16('The run, where the record names its trace or its prompt.').nullable(),
    })
    .describe('A log record.'),
);

const logPage = component(
  'LogPage',
  z
    .object({
      records: z.array(logRecord),
      next_cursor: nextCursor,
      blocks_read: count('Blocks of records that were read.'),
      unreadable: unreadableBlocks,
    })
    .describe('Log records, those that arrived last first.'),
);

function toRecord(line: LogLine): BodyOf<typeof logRecord> {
  const time = line.timeUnixNano === '0' ? null : isoOfNanos(line.timeUnixNano);
  return bodyFrom(logRecord, { ...line, time, cut: line.isCut });
}

export function listLogs({ runs, nowMs }: ApiContext): AuthorizedHandler {
  return async (exchange, { workspaceId }) => {
    const query = parseQuery(logsQuery, exchange.query);
    const { cursor = null, limit } = query;
    const filter = logFilterOf(query, nowMs());
    const page = await runs.logs(workspaceId, filter, cursor, limit, exchange.signal);
    const body = bodyFrom(logPage, {
      ...page,
      records: page.records.map(toRecord),
      nextCursor: toLogCursor(page.next),
    });
    return json(body);
  };
}

const EXAMPLE: BodyOf<typeof logPage> = {
  records: [
    {
      time: '2025-11-20T12:00:01.000Z',
      level: 'info',
      service: RUN.agent,
      event_name: 'order.looked_up',
      text: 'order 1017 was looked up',
      attributes: 'order=1017',
      cut: false,
      run_id: null,
    },
  ],
  next_cursor: null,
  blocks_read: 1,
  unreadable: [],
};

export const LOG_OPERATION: Operation = {
  ...READ,
  path: '/platform/v1/logs',
  operationId: 'listLogs',
  tag: 'Logs and metrics',
  summary: 'List the log records',
  description:
    'Log records with and without a run, those that arrived last first. A page ends when it is full, or after two ' +
    'seconds or 32 MiB: it may be empty and still have a `next_cursor`. A workspace that redacts excerpts has no texts ' +
    'here and answers 409 to `text`.',
  query: logsQuery,
  queryExamples: {
    since: '2025-11-01',
    until: '2125-11-01T00:00:00+01:00',
    level: 'info',
    service: RUN.agent,
    run_id: TRACE_ID,
    text: 'order 1017',
    limit: '100',
  },
  responses: {
    ...found('A page of log records.', logPage, [example('records', 'One record.', EXAMPLE)]),
    ...redacted(LOGS_NOT_SEARCHED),
    ...READ_REFUSALS,
    ...badQuery('limit', `must be a whole number from 1 to ${LIMIT_MAX}, in digits`),
  },
};
