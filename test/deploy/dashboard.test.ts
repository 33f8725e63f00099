/**
 * What the panels of deploy/grafana/sluice.json show is what their titles, legends and units say.
 * test/deploy/deploy.test.ts has whether metrics exist and queries are valid.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { someOf } from '../support/cases.ts';

interface Panel {
  readonly title: string;
  readonly datasource?: { readonly uid: string };
  readonly fieldConfig?: { readonly defaults?: { readonly unit?: string } };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat?: string }[];
}
const FILE = new URL('../../deploy/grafana/sluice.json', import.meta.url);
const { panels, templating } = JSON.parse(readFileSync(FILE, 'utf8')) as {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string }[] };
};
const queries = panels.flatMap(({ title, fieldConfig, targets = [] }) =>
  targets.map(({ expr, legendFormat: legend = '' }) => {
    return { title, legend, expr, unit: fieldConfig?.defaults?.unit ?? '' };
  }),
);
const OF_INSTANCE = '{instance=~"$instance"}';

describe('the dashboard', () => {
  /** Every query, as `title / legend`, with the instance's filter and the interval left out. */
  const EXPECTED: Readonly<Record<string, string>> = {
    'Rows stored per second / ': 'sum(rate(sluice_store_rows_total[5m]))',
    'Answered 503 / ':
      'sum(rate(sluice_ingest_requests_total{status="503"}[5m])) / ' +
      'sum(rate(sluice_ingest_requests_total[5m])) or vector(0)',
    'Runs waiting / ': 'max(sluice_pass_waiting_runs)',
    'Longest wait / ': 'max(sluice_pass_oldest_wait_seconds)',
    'Findings, last 24 h / ': 'sum(increase(sluice_pass_findings_total[24h])) or vector(0)',
    'Processes / ': 'sum(up{job="sluice"})',
    'Rows per second / {{instance}}': 'sum by (instance) (rate(sluice_store_rows_total[i]))',
    'Requests per second by answer / {{signal}} {{status}}':
      'sum by (signal, status) (rate(sluice_ingest_requests_total[i]))',
    'Accepted, not yet committed / {{instance}}': 'sluice_store_inflight_bytes',
    'Answered 503 per second, by reason / {{place}} {{reason}}':
      'sum by (place, reason) (rate(sluice_unavailable_answers_total[i]))',
    'Refused senders per second, by reason / {{reason}}':
      'sum by (reason) (rate(sluice_ingest_refused_requests_total[i]))',
    'Records set aside per second / {{signal}} {{reason}}':
      'sum by (signal, reason) (rate(sluice_ingest_rejected_records_total[i]))',
    'Requests sent again per second / {{instance}}':
      'sum by (instance) (rate(sluice_ingest_resends_total[i]))',
    'Runs per second by outcome / {{outcome}}':
      'sum by (outcome) (rate(sluice_pass_runs_total[i]))',
    'Runs waiting / runs': 'max(sluice_pass_waiting_runs)',
    'Longest wait / longest wait': 'max(sluice_pass_oldest_wait_seconds)',
    'Findings per hour by severity / {{severity}}':
      'sum by (severity) (increase(sluice_pass_findings_total[1h]))',
    'Runs evaluated per second, by what was checked / {{checked}}':
      'sum by (checked) (rate(sluice_pass_runs_checked_total[i]))',
    'Faults per minute, by place / {{place}}': 'sum by (place) (rate(sluice_faults_total[i])) * 60',
    'Clock ahead of PostgreSQL / {{instance}}': 'sluice_clock_difference_seconds',
    'Limits counted in Redis / {{instance}}': 'sluice_limits_shared',
    'Read replica behind / {{instance}}': 'sluice_replica_lag_seconds',
    'Alerts: longest wait / all destinations': 'max(sluice_alert_oldest_pending_seconds)',
    'Sign-ins per minute, by outcome / {{outcome}}':
      'sum by (outcome) (rate(sluice_sign_ins_total[i])) * 60',
  };
  const quantiles = queries.filter(({ expr }) => expr.includes('histogram_quantile'));

  test('each query is the one of its title', () => {
    const plain = queries
      .filter((query) => !quantiles.includes(query))
      .map(({ title, legend, expr }) => [
        `${title} / ${legend}`,
        expr
          .replaceAll(OF_INSTANCE, '')
          .replaceAll('instance=~"$instance",', '')
          .replaceAll('$__rate_interval', 'i'),
      ]);
    expect(Object.fromEntries(plain)).toEqual(EXPECTED);
    expect(plain.length).toBe(Object.keys(EXPECTED).length);
  });

  test('a quantile is that of its legend', () => {
    expect(quantiles.map(({ legend }) => legend)).toEqual(['p50', 'p95', 'p99']);
    for (const { title, legend, expr } of quantiles) {
      expect(title).toBe('Commit of a batch');
      const quantile = Number(legend.slice(1)) / 100;
      expect(expr).toBe(
        `histogram_quantile(${quantile}, sum by (le) ` +
          `(rate(sluice_store_batch_seconds_bucket${OF_INSTANCE}[$__rate_interval])))`,
      );
    }
  });

  test('the processes that are chosen are those shown', () => {
    expect(templating.list.map(({ name }) => name)).toEqual(['datasource', 'instance']);
    for (const { expr } of queries.filter(({ title }) => title !== 'Processes')) {
      const selectors = [...expr.matchAll(/sluice_\w+(\{[^}]*\})?/g)].map(([, labels]) => labels);
      expect(selectors.length).toBeGreaterThan(0);
      for (const labels of selectors) expect(labels, expr).toContain('instance=~"$instance"');
    }
  });

  test('units are those of the metrics', () => {
    for (const { title, expr, unit } of someOf(queries)) {
      const isSeconds = /_seconds(?:_bucket)?\b/.test(expr);
      expect(unit === 's', title).toBe(isSeconds);
      expect(unit === 'bytes', title).toBe(/_bytes\b/.test(expr));
      if (unit.endsWith('ps')) expect(expr, title).toMatch(/\brate\(/);
      if (unit === 'percentunit') expect(expr, title).toContain(' / ');
    }
  });
});
