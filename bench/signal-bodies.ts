/**
 * Log and metric exports beside the traces of `bodies.ts`: log records of about 1.1 KB as agents
 * send them (an event with its messages, linked to a span), and metrics as a service's SDK sends
 * them every minute (counters and histograms with a few attributes). The same bytes every time.
 */
import { hex, RESOURCE, SCOPE, START_UNIX_NANO, seeded, sentence, text, whole } from './bodies.ts';

const RECORDS_PER_RUN = 10;
const BOUNDS = [0, 5, 10, 25, 50, 75, 100, 250, 500, 750, 1000, 2500, 5000, 7500, 10_000];
const POINTS_PER_METRIC = 10;

function nanos(random: () => number): string {
  return String(START_UNIX_NANO + BigInt(Math.floor(random() * 1e12)) * 1000n);
}

/**
 * One log export.
 *
 * @param seed other seeds give other ids and texts
 * @param records how many log records it holds
 */
export function logBody(seed: number, records: number): Buffer {
  const random = seeded(seed);
  let traceId = '';
  const logRecords = Array.from({ length: records }, (_, index) => {
    if (index % RECORDS_PER_RUN === 0) traceId = hex(random, 32);
    const time = nanos(random);
    return {
      timeUnixNano: time,
      observedTimeUnixNano: time,
      severityNumber: 9,
      severityText: 'INFO',
      eventName: 'gen_ai.client.inference.operation.details',
      body: { stringValue: sentence(random, 50) },
      attributes: [
        text('gen_ai.operation.name', 'chat'),
        text('gen_ai.request.model', 'gpt-4.1-mini'),
        whole('gen_ai.usage.input_tokens', Math.floor(random() * 4000)),
        text('gen_ai.output.messages', JSON.stringify([{ content: sentence(random, 30) }])),
      ],
      droppedAttributesCount: 0,
      flags: 1,
      traceId,
      spanId: hex(random, 16),
    };
  });
  const scopeLogs = [{ scope: SCOPE, logRecords }];
  return Buffer.from(JSON.stringify({ resourceLogs: [{ resource: RESOURCE, scopeLogs }] }));
}

/**
 * One metric export: every second metric a counter, the others histograms, ten points each.
 *
 * @param seed other seeds give other values
 * @param points how many data points it holds
 */
export function metricBody(seed: number, points: number): Buffer {
  const random = seeded(seed);
  const start = nanos(random);
  const time = nanos(random);
  const attributes = (place: number) => [
    text('gen_ai.operation.name', 'chat'),
    text('gen_ai.request.model', 'gpt-4.1-mini'),
    whole('server.port', 443 + place),
  ];
  const base = (place: number) => ({
    attributes: attributes(place),
    startTimeUnixNano: start,
    timeUnixNano: time,
  });
  const counter = (place: number) => ({
    ...base(place),
    asInt: String(Math.floor(random() * 1e6)),
  });
  const histogram = (place: number) => {
    const bucketCounts = Array.from({ length: BOUNDS.length + 1 }, () => Math.floor(random() * 90));
    const count = bucketCounts.reduce((sum, one) => sum + one, 0);
    const sum = random() * 1e5;
    return { ...base(place), count, sum, bucketCounts, explicitBounds: BOUNDS, min: 0.5, max: 9e3 };
  };
  const metrics = Array.from({ length: Math.ceil(points / POINTS_PER_METRIC) }, (_, index) => {
    const places = Array.from(
      { length: Math.min(POINTS_PER_METRIC, points - index * POINTS_PER_METRIC) },
      (__, place) => place,
    );
    const name = `gen_ai.client.metric.${index}`;
    const shared = { name, description: 'Measures something of the client', unit: '1' };
    return index % 2 === 0
      ? {
          ...shared,
          sum: {
            aggregationTemporality: 2,
            isMonotonic: true,
            dataPoints: places.map(counter),
          },
        }
      : { ...shared, histogram: { aggregationTemporality: 2, dataPoints: places.map(histogram) } };
  });
  const scopeMetrics = [{ scope: SCOPE, metrics }];
  return Buffer.from(JSON.stringify({ resourceMetrics: [{ resource: RESOURCE, scopeMetrics }] }));
}
