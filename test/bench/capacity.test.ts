/** Machines and prices from measured costs. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { capacityParts } from '../../bench/capacity/page.ts';
import { clickStackFor, DATABASE_DISK_TB_MAX, planFor } from '../../bench/capacity/plan.ts';
import type { CapacityResult, RowCost } from '../../bench/capacity/result.ts';
import { replaceMeasured } from '../../bench/markdown.ts';

const span: RowCost = {
  name: 'span',
  rows: 100_000,
  serverUs: 5,
  postgresUs: 6,
  rawCopyUs: 5.5,
  toRawCopy: 2,
  rawToRawCopy: [2, 1.9, 2.1],
  bodyBytes: 1500,
  gzipBytes: 150,
  copyBytes: 1200,
  tableBytes: 1200,
  indexBytes: 40,
  runBytes: 30,
  receiptBytes: 1,
  walBytes: 1250,
};
const later = { rowsBefore: 1_000_000, rows: 300_000, walBytes: 1600 };
const run = {
  runs: 3000,
  spansPerRun: 4,
  textBytes: 7000,
  findings: 150,
  serverUs: 800,
  postgresUs: 80,
  walBytes: 1600,
  fromPostgresBytes: 7200,
  toPostgresBytes: 800,
  grownBytes: 120,
  packedBytes: 400,
};
const deletion = {
  runs: 100_000,
  serverUs: 10,
  postgresUs: 20,
  walBytes: 400,
  runsPerSecond: 16_000,
};
const costs = { span, later, run, deletion };

describe('a plan', () => {
  const plan = planFor(costs, { spansPerSecond: 10_000, days: 30, hotDays: 2 });

  test('adds the evaluation of a run to its spans', () => {
    expect(plan.ingestCores).toBeCloseTo(0.05);
    expect(plan.evaluationCores).toBeCloseTo(2);
    expect(plan.postgresCores).toBeCloseTo(0.06 + 0.2 + 0.05);
    expect(plan.walMbPerSecond).toBeCloseTo(16 + 4 + 1);
    expect([plan.inMbPerSecond, plan.inGzipMbPerSecond]).toEqual([15, 1.5]);
    expect(plan.postgresMbPerSecond).toBeCloseTo(12 + 20);
  });

  test('leaves half of the cores idle, and a fifth of the disk free', () => {
    expect([plan.serverVcpus, plan.databaseVcpus]).toEqual([5, 1]);
    // 10,000 × 86,400 s × (2 × 1,240 + 30 × (30 + 30 + 100)) bytes
    expect(plan.diskTb).toBeCloseTo(6.28992 / 0.8);
    expect(plan.databases).toBe(1);
  });

  test('costs its vCPUs and its disk', () => {
    expect(plan.dollars.compute).toBeCloseTo(6 * 0.0408 * 730);
    expect(plan.dollars.disk).toBeCloseTo(7.8624 * 80);
  });

  test('of a hundred times the rate costs a hundred times the disk, on as many databases as that takes', () => {
    const large = planFor(costs, { spansPerSecond: 1_000_000, days: 30, hotDays: 2 });
    expect(large.diskTb).toBeCloseTo(786.24);
    expect(large.databases).toBe(Math.ceil(786.24 / DATABASE_DISK_TB_MAX));
    expect(large.serverVcpus).toBe(410);
  });

  test('of fewer days takes less disk and the same machines', () => {
    const short = planFor(costs, { spansPerSecond: 10_000, days: 3, hotDays: 2 });
    // 10,000 × 86,400 s × 27 × 160 bytes less
    expect(plan.diskTb - short.diskTb).toBeCloseTo(3.73248 / 0.8);
    expect(short.serverVcpus).toBe(plan.serverVcpus);
  });
});

test('ClickStack takes what its makers say: vCPUs and a tenth of the bytes', () => {
  const plan = clickStackFor(planFor(costs, { spansPerSecond: 100_000, days: 30, hotDays: 2 }));
  // 150 MB/s: 15 vCPUs to ingest, 15 to query
  expect(plan.vcpus).toBe(30);
  // 150 MB × 2,592,000 s / 10
  expect(plan.diskTb).toBeCloseTo(38.88);
  expect(plan.dollars.own).toBeCloseTo(30 * 0.0408 * 730 + (38.88 / 0.8) * 80);
  expect(plan.dollars.cloud).toBeCloseTo((30 * 436.95) / 4 + 38.88 * 25.3);
});

test('docs/scaling.md has a place for everything that is measured', () => {
  const result: CapacityResult = {
    name: 'capacity',
    machine: {
      cpu: 'CPU',
      cores: 2,
      memoryGib: 8,
      kernel: '6.1',
      node: 'v20.0.0',
      loadBefore: 0.1,
      at: '2026-11-23T01:30:00.000Z',
      commit: '0123456789',
    },
    rounds: 3,
    bodies: 1000,
    runs: 3000,
    spans: [
      { span, later, run },
      { span: { ...span, name: 'span of `conv10`' }, later, run },
    ],
    others: [{ ...span, name: 'log record' }],
    deletion,
  };
  const parts = capacityParts(result);
  let page = readFileSync(new URL('../../docs/scaling.md', import.meta.url), 'utf8');
  for (const [name, text] of parts) page = replaceMeasured(page, name, text);
  expect(page).toContain('| span | 5.00 | 6.00 | 5.50 | 2.00 | 2.00 1.90 2.10 |');
  expect(page).toContain(
    '| 10,000, spans | 15 (1.5) | 32 | 0.1 | 2.0 | 0.3 | 5 | 1 | 7.9 | 21 | 1 |',
  );
  expect(parts.get('prices')?.split('\n')).toHaveLength(8);
});
