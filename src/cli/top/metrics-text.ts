/** Parses what `/metrics` answers (Prometheus' text format); lines that are none are left out. */

export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** The samples of each metric. */
export type MetricSamples = ReadonlyMap<string, readonly Sample[]>;

const LINE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+-?\d+)?$/;
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"/g;
const ESCAPED: Readonly<Record<string, string>> = { n: '\n', '"': '"', '\\': '\\' };

function labelsOf(text: string): Record<string, string> {
  const labels: Record<string, string> = Object.create(null);
  for (const [, name = '', value = ''] of text.matchAll(LABEL)) {
    labels[name] = value.replace(/\\(.)/g, (whole, char: string) => ESCAPED[char] ?? whole);
  }
  return labels;
}

function numberOf(text: string): number {
  if (text === '+Inf') return Number.POSITIVE_INFINITY;
  if (text === '-Inf') return Number.NEGATIVE_INFINITY;
  return text === '' ? Number.NaN : Number(text);
}

/** The samples of a text by the name of their metric. */
export function parseMetrics(text: string): MetricSamples {
  const metrics = new Map<string, Sample[]>();
  for (const line of text.split('\n')) {
    if (line.startsWith('#')) continue;
    const [, name, labels = '', digits = ''] = LINE.exec(line.trim()) ?? [];
    if (name === undefined) continue;
    const sample = { labels: labelsOf(labels), value: numberOf(digits) };
    const samples = metrics.get(name);
    if (samples === undefined) metrics.set(name, [sample]);
    else samples.push(sample);
  }
  return metrics;
}

/**
 * The sum of a metric's samples that have all of the labels.
 *
 * @param where labels; a pattern must match the whole value
 */
export function sumOf(
  metrics: MetricSamples,
  name: string,
  where: Readonly<Record<string, RegExp>> = {},
): number {
  const wanted = (metrics.get(name) ?? []).filter(({ labels }) =>
    Object.entries(where).every(([label, pattern]) => pattern.test(labels[label] ?? '')),
  );
  return wanted.reduce((sum, { value }) => sum + value, 0);
}
