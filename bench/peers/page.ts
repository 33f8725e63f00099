/** The part of docs/performance.md about what one would build instead. Pure. */
import { medianOf, type Series } from '../ingest/measured.ts';
import { NAMES } from '../ingest/result.ts';
import { cpuRatio, whole } from '../ingest/targets.ts';
import { machineLine } from '../machine.ts';
import { markdownTable } from '../markdown.ts';
import type { PeersResult } from '../peers.ts';

const TITLES = [
  'spans into',
  'rows/s',
  'CPU of a span, server + PostgreSQL, µs',
  'times raw COPY’s',
  'WAL, bytes a span',
  'disk, bytes a span',
  'memory, MB',
  'acknowledged spans lost by kills',
];

function ratioToRaw(series: Series, all: readonly Series[]): string {
  const raw = all.find(({ name }) => name === NAMES.rawOne);
  return raw === undefined ? '' : cpuRatio(series, raw).toFixed(2);
}

export function peersParts(result: PeersResult): Map<string, string> {
  const { machine, rounds, bodies, kills, series, killed } = result;
  const rows = series.map((one) => {
    const { rowsPerSecond, cpu, stored, residentMb } = medianOf(one);
    const ofKills = killed.find(({ name }) => name === one.name);
    return [
      one.name,
      whole(rowsPerSecond),
      `${cpu.server.toFixed(1)} + ${cpu.postgres.toFixed(1)}`,
      ratioToRaw(one, series),
      whole(stored?.wal ?? Number.NaN),
      whole(stored?.disk ?? Number.NaN),
      residentMb === 0 ? '–' : String(residentMb),
      ofKills === undefined ? '–' : `${ofKills.lost} of ${whole(ofKills.acknowledged)}`,
    ];
  });
  const facts =
    `${machineLine(machine)}; medians of ${rounds} rounds of ${bodies} exports of 100 spans over 64 ` +
    `connections; ${kills} kills of each server.`;
  return new Map([['peers', `${facts}\n\n${markdownTable(TITLES, rows)}`]]);
}
