/** The part of docs/performance.md about the relay. Pure. */
import { median } from '../harness.ts';
import { machineLine } from '../machine.ts';
import { markdownTable } from '../markdown.ts';
import type { RelayResult } from '../relay.ts';

export function relayParts(result: RelayResult): Map<string, string> {
  const { machine, rounds, bodies, bytesPerSpan, variants } = result;
  const rows = variants.map(({ name, raw }) => {
    const of = (figure: (one: (typeof raw)[number]) => number): number => median(raw.map(figure));
    return [
      name,
      of(({ exportsPerSecond }) => exportsPerSecond).toFixed(0),
      of(({ medianMs }) => medianMs).toFixed(0),
      of(({ serverUs }) => serverUs).toFixed(1),
      of(({ relayUs }) => relayUs).toFixed(1),
    ];
  });
  const titles = [
    'exports of 100 spans',
    'exports/s',
    'median ms to the answer',
    'µs CPU of the server per span',
    'µs CPU of the relay per span',
  ];
  const facts =
    `${machineLine(machine)}; medians of ${rounds} rounds of ${bodies} exports over 8 connections, ` +
    `${bytesPerSpan.json} bytes of JSON per span, ${bytesPerSpan.protobuf} of protobuf.`;
  return new Map([['relay', `${facts}\n\n${markdownTable(titles, rows)}`]]);
}
