/**
 * When each alert of deploy/prometheus/alerts.yaml fires: its condition, how long it must hold, and how
 * urgent it is. promtool makes each fire (test/deploy/deploy.test.ts), far beyond its threshold; a threshold
 * that moves a little is seen here.
 */
import { readFileSync } from 'node:fs';
import { load } from 'js-yaml';
import { expect, test } from 'vitest';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: { readonly severity: string };
}
type Condition = readonly [expr: string, holds: string | undefined, severity: string];

const EXPECTED: Readonly<Record<string, Condition>> = {
  SluiceDown: ['up{job="sluice"} == 0', '1m', 'critical'],
  SluiceNotReady: [
    'increase(sluice_unavailable_answers_total{place="ready"}[2m]) > 0',
    '2m',
    'critical',
  ],
  SluiceTelemetryNotStored: [
    'sum by (instance) (rate(sluice_ingest_requests_total{status="503"}[5m])) > 0.01 * sum by (instance) (rate(sluice_ingest_requests_total[5m]))',
    '5m',
    'critical',
  ],
  SluiceStoringIsSlow: [
    'histogram_quantile(0.99, sum by (instance, le) (rate(sluice_store_batch_seconds_bucket[5m]))) > 2',
    '10m',
    'warning',
  ],
  SluiceTelemetryRejected: [
    'sum by (signal, reason) (increase(sluice_ingest_rejected_records_total[1h])) > 0 or sum by (signal, reason) (sluice_ingest_rejected_records_total unless sluice_ingest_rejected_records_total offset 1h) > 0',
    undefined,
    'info',
  ],
  SluiceSendersRefused: [
    'sum by (reason) (rate(sluice_ingest_refused_requests_total[15m])) > 0.1',
    '15m',
    'warning',
  ],
  SluiceEvaluationBehind: ['max(sluice_pass_oldest_wait_seconds) > 600', '5m', 'warning'],
  SluiceEvaluationStopped: [
    'max(sluice_pass_waiting_runs) > 0 and sum(increase(sluice_pass_runs_total{outcome="evaluated"}[15m])) == 0',
    '5m',
    'critical',
  ],
  SluiceRunsNotEvaluated: [
    'increase(sluice_pass_runs_total{outcome="evaluation_failed"}[1h]) > 0 or (sluice_pass_runs_total{outcome="evaluation_failed"} > 0 unless sluice_pass_runs_total{outcome="evaluation_failed"} offset 1h)',
    undefined,
    'warning',
  ],
  SluiceRunsWithoutText: [
    'sum(increase(sluice_pass_runs_without_text_total[1h])) > 0.5 * sum(increase(sluice_pass_runs_total{outcome="evaluated"}[1h]))',
    '1h',
    'info',
  ],
  SluiceClockDiffers: ['abs(sluice_clock_difference_seconds) > 10', '3m', 'warning'],
  SluiceHotDaysNotPacked: ['min(sluice_hot_days_waiting) > 0', '6h', 'warning'],
  SluiceLimitsNotShared: [
    'sluice_limits_shared == 0 and on () count(sluice_limits_shared) > 1',
    '10m',
    'warning',
  ],
  SluiceReplicaNotUsed: [
    'sluice_replica_used == 0 and on (instance) sluice_replica_lag_seconds > 0',
    '10m',
    'warning',
  ],
  SluiceAlertsNotSent: ['max(sluice_alert_oldest_pending_seconds) > 1800', '5m', 'warning'],
  SluiceFaults: [
    'sum by (instance, place) (increase(sluice_faults_total[15m])) > 10',
    '15m',
    'warning',
  ],
  SluiceSignInsRefused: [
    'sum(increase(sluice_sign_ins_total{outcome!="succeeded"}[10m])) > 50',
    undefined,
    'warning',
  ],
};

test('every alert has its condition, its patience and its urgency', () => {
  const file = new URL('../../deploy/prometheus/alerts.yaml', import.meta.url);
  const { groups } = load(readFileSync(file, 'utf8')) as {
    readonly groups: readonly { readonly rules: readonly Rule[] }[];
  };
  const rules = groups.flatMap(({ rules: own }) => own);
  const found = rules.map(({ alert, expr, for: holds, labels }) => [
    alert,
    [expr.replaceAll('\n', ' ').trim(), holds, labels.severity],
  ]);
  expect(Object.fromEntries(found)).toEqual(EXPECTED);
});
