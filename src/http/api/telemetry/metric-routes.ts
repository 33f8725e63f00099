/** `GET /platform/v1/metrics` and one metric by hour: queries, routes, bodies and operations. */
import { z } from 'zod';
import {
  METRIC_KINDS,
  type MetricChart,
  type MetricRange,
  type MetricSummary,
  STATISTICS,
} from '../../../model/shown/metrics.ts';
import { json } from '../../transport/answers.ts';
import { moment, parseQuery, wholeNumber } from '../../transport/input.ts';
import type { ApiContext, AuthorizedHandler } from '../authorized.ts';
import { type BodyOf, bodyFrom, component, count, timestamp } from '../openapi/component.ts';
import {
  badQuery,
  example,
  found,
  type Operation,
  READ,
  READ_REFUSALS,
} from '../openapi/operation.ts';
import { RUN } from '../otlp/otlp-examples.ts';
import { unreadableBlocks } from './log-routes.ts';

const HOURS_DEFAULT = 24;
const HOURS_MAX = 168;
const NAME_CHARS_MAX = 256;

const name = z.string().max(NAME_CHARS_MAX);

export const metricsQuery = z.object({
  hours: wholeNumber(1, HOURS_MAX, HOURS_DEFAULT).describe('Hours before `until` that are read.'),
  until: moment.optional().describe('The end of the range; now if absent.'),
});
export const seriesQuery = metricsQuery.extend({
  name: name.describe('Name of the metric.'),
  by: name.optional().describe('Key of the attribute of its points by which they are added up.'),
});

export const rangeOf = (
  { hours, until }: z.infer<typeof metricsQuery>,
  nowMs: number,
): MetricRange => ({ hours, until: until ?? new Date(nowMs) });

const metric = component(
  'Metric',
  z
    .object({
      name: z.string(),
      unit: z.string().describe('As sent; empty without one.'),
      description: z.string().describe('As sent; empty without one.'),
      kind: z.enum(METRIC_KINDS).describe('As in OTLP.'),
      cumulative: z.boolean().describe('Points are totals since a start, not differences.'),
      monotonic: z.boolean().describe('A sum that only rises.'),
      services: z.array(z.string()).describe('Services that sent it.'),
      attributes: z.array(z.string()).describe('Keys of attributes of its points.'),
      last_value: z
        .number()
        .nullable()
        .describe('Of the latest point; of a histogram its average. Null without one.'),
      last_seen_at: timestamp('Time of the latest point.'),
      points: count('Points that were read.'),
    })
    .describe('A metric, as its points of the range show it.'),
);

const read = {
  read_to: timestamp(
    'Points that arrived before were not read; null when the whole range was.',
  ).nullable(),
  unreadable: unreadableBlocks,
};

const metricList = component(
  'MetricList',
  z
    .object({
      metrics: z.array(metric),
      left_out: count('Further metrics.'),
      ...read,
    })
    .describe('Metrics by name.'),
);

const metricSeries = component(
  'MetricSeries',
  z
    .object({
      metric: metric.nullable().describe('Null if no point of the name was read.'),
      statistic: z
        .enum(STATISTICS)
        .nullable()
        .describe(
          'The value of an hour: `sum` of a counter, `last` of a sum that also falls, `average` of the others.',
        ),
      hours: z.array(timestamp('Beginning of an hour.')),
      series: z
        .array(
          z.object({
            value: z.string().nullable().describe('Of the attribute; null for points without it.'),
            values: z.array(z.number().nullable()).describe('By hour; null without points.'),
          }),
        )
        .describe('Those with the largest values first.'),
      left_out: count('Further values of the attribute.'),
      ...read,
    })
    .describe('A metric by hour.'),
);

const toMetric = (one: MetricSummary): BodyOf<typeof metric> =>
  bodyFrom(metric, {
    ...one,
    cumulative: one.isCumulative,
    monotonic: one.isMonotonic,
    lastSeenAt: one.lastSeen,
  });

export function listMetrics({ runs, nowMs }: ApiContext): AuthorizedHandler {
  return async (exchange, { workspaceId }) => {
    const range = rangeOf(parseQuery(metricsQuery, exchange.query), nowMs());
    const listed = await runs.metrics.list(workspaceId, range, exchange.signal);
    return json(bodyFrom(metricList, { ...listed, metrics: listed.metrics.map(toMetric) }));
  };
}

function toSeries(chart: MetricChart): BodyOf<typeof metricSeries> {
  return bodyFrom(metricSeries, {
    ...chart,
    metric: chart.metric === null ? null : toMetric(chart.metric),
    hours: chart.hours.map((hour) => hour.toISOString()),
  });
}

export function showSeries({ runs, nowMs }: ApiContext): AuthorizedHandler {
  return async (exchange, { workspaceId }) => {
    const { name, by = null, ...query } = parseQuery(seriesQuery, exchange.query);
    const range = rangeOf(query, nowMs());
    const chart = await runs.metrics.chart(workspaceId, { name, by }, range, exchange.signal);
    return json(toSeries(chart));
  };
}

const HOUR = '2025-11-20T12:00:00.000Z';
const EXAMPLE: BodyOf<typeof metric> = {
  name: 'gen_ai.client.tokens',
  unit: '{token}',
  description: '',
  kind: 'sum',
  cumulative: false,
  monotonic: true,
  services: [RUN.agent],
  attributes: ['gen_ai.request.model'],
  last_value: 412,
  last_seen_at: '2025-11-20T12:00:02.500Z',
  points: 1,
};
const WHOLE = { left_out: 0, read_to: null, unreadable: [] };
const EXAMPLES = { hours: '24', until: '2025-11-20T13:00:00Z' };
const BAD_HOURS = badQuery('hours', `must be a whole number from 1 to ${HOURS_MAX}, in digits`);

export const METRIC_OPERATIONS: readonly Operation[] = [
  {
    ...READ,
    path: '/platform/v1/metrics',
    operationId: 'listMetrics',
    tag: 'Logs and metrics',
    summary: 'List the metrics',
    description:
      'The metrics with points that arrived in a range. Reading ends after two seconds or 32 MiB: `read_to` says how far it came.',
    query: metricsQuery,
    queryExamples: EXAMPLES,
    responses: {
      ...found('The metrics.', metricList, [
        example('metrics', 'One metric.', { metrics: [EXAMPLE], ...WHOLE }),
      ]),
      ...READ_REFUSALS,
      ...BAD_HOURS,
    },
  },
  {
    ...READ,
    path: '/platform/v1/metrics/series',
    operationId: 'getMetricSeries',
    tag: 'Logs and metrics',
    summary: 'Show a metric by hour',
    description:
      'The values of a metric by hour and by the values of one attribute, at most 12 of them. It reads as much as the list.',
    query: seriesQuery,
    queryExamples: { ...EXAMPLES, name: 'gen_ai.client.tokens', by: 'gen_ai.request.model' },
    responses: {
      ...found('The hours of a metric.', metricSeries, [
        example('series', 'A counter by model.', {
          metric: EXAMPLE,
          statistic: 'sum',
          hours: [HOUR],
          series: [{ value: RUN.model, values: [412] }],
          ...WHOLE,
        }),
      ]),
      ...READ_REFUSALS,
      ...BAD_HOURS,
    },
  },
];
