/** The measured part of docs/decisions/0005-decoding.md. Pure. */
import { notMeasured } from '../agent-runs/data.ts';
import type { DecodeMeasured, DecodeResult } from '../decode.ts';
import { machineLine } from '../machine.ts';
import { markdownTable } from '../markdown.ts';

const bytes = (value: number | null): string => (value === null ? '–' : value.toLocaleString('en'));

function cellsOf(one: DecodeMeasured): string[] {
  return [
    one.kind,
    bytes(one.bytesPerRow),
    bytes(one.parseNsPerRow),
    one.plainToParse.toFixed(2),
    one.fastToParse.toFixed(2),
    String(one.fastMbPerSecond),
    bytes(one.plainBytesAllocatedPerRow),
    bytes(one.fastBytesAllocatedPerRow),
  ];
}

const TITLES = [
  'body',
  'bytes/row',
  'JSON.parse ns/row',
  'plain ÷ parse',
  'fast ÷ parse',
  'fast MB/s',
  'plain allocates/row',
  'fast allocates/row',
];

export function decodeParts({ machine, rounds, kinds }: DecodeResult): Map<string, string> {
  const facts = `${machineLine(machine)}; medians of ${rounds} rounds.`;
  const table = markdownTable(TITLES, kinds.map(cellsOf));
  const missing = notMeasured(kinds.map(({ kind }) => kind));
  const all = [facts, table, missing].filter((part) => part !== '');
  return new Map([['decode', all.join('\n\n')]]);
}
