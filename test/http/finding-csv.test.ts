/** Findings as CSV: exact bytes, nothing a spreadsheet would run, never an excerpt, page by page. */
import { describe, expect, test } from 'vitest';

import { cell, csvOf } from '../../src/http/finding-csv.ts';
import { ExportSlots, type FindingExporter } from '../../src/http/ocsf-export.ts';
import type { FindingFilter } from '../../src/model.ts';
import { findingDraft, hex16 } from '../support/rows.ts';

describe('a cell', () => {
  test.each([
    ['plain', 'plain'],
    ['', ''],
    ['two words', 'two words'],
    ['a,b', '"a,b"'],
    ['say "hi"', '"say ""hi"""'],
    ['two\nlines', '"two\nlines"'],
    ['two\r\nlines', '"two\r\nlines"'],
    ['naïve 🙂', 'naïve 🙂'],
    ['a=b', 'a=b'],
    ['2026-11-21T10:00:00.000Z', '2026-11-21T10:00:00.000Z'],
  ])('%j is written %j', (value, text) => {
    expect(cell(value)).toBe(text);
  });

  test.each([
    ['=1+1', "'=1+1"],
    ['+1', "'+1"],
    ['-1', "'-1"],
    ['@SUM(A1)', "'@SUM(A1)"],
    ['\t=1', "'\t=1"],
    ['\tword', "'\tword"],
    ['\r=1', '"\'\r=1"'],
    ['\n=1', '"\'\n=1"'],
    [' =1', "' =1"],
    ['\ufeff=1', "'\ufeff=1"],
    ['＝1', "'＝1"],
    ['＠x', "'＠x"],
    ['=HYPERLINK("https://evil.test","x")', '"\'=HYPERLINK(""https://evil.test"",""x"")"'],
  ])('%j, which a spreadsheet may run, becomes the text %j', (value, text) => {
    expect(cell(value)).toBe(text);
  });
});

const HEADER =
  'created_at,severity,category,rule_id,rule_title,rule_version,rule_status,surface,field,' +
  'step_name,step_span_id,run_id,finding_id,corpus_version\r\n';

function facts(id: number, stepName: string) {
  const { excerpt: _, ...draft } = findingDraft({ stepName, stepSpanId: null });
  return {
    ...draft,
    id: hex16(id),
    runId: hex16(0xc1),
    createdAt: new Date('2026-11-21T10:00:00.123Z'),
    corpusVersion: '4.0.0',
  };
}

/** An export of two pages, and what it was asked for. */
function twoPages(): { exporter: FindingExporter; asked: unknown[] } {
  const asked: unknown[] = [];
  const next = { atMicros: '5', id: hex16(1) };
  return {
    asked,
    exporter: {
      place: async () => null,
      settledBefore: async () => '99',
      page: async (workspaceId, filter, range, limit) => {
        asked.push([workspaceId, filter, range, limit]);
        return range.after === null
          ? { findings: [facts(1, '=cmd, "x"')], next }
          : { findings: [facts(2, 'plain')], next: null };
      },
    },
  };
}

const titleOf = (id: string): string => `the "title" of ${id}`;

async function textOf(chunks: AsyncIterable<Buffer>): Promise<string> {
  const parts: Buffer[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return Buffer.concat(parts).toString('utf8');
}

test('a file is its header and a line per finding, to the byte', async () => {
  const { exporter, asked } = twoPages();
  const filter: FindingFilter = { severity: 'high' };
  const csv = { exporter, slots: new ExportSlots(), titleOf };
  const line = (step: string, id: number): string =>
    '2026-11-21T10:00:00.123Z,high,atr_prompt_injection,ATR-2026-00001,' +
    `"the ""title"" of ATR-2026-00001",1.0.0,stable,tool_result,tool_response,${step},,` +
    `${hex16(0xc1)},${hex16(id)},4.0.0\r\n`;
  expect(await textOf(csvOf(csv, 7, filter))).toBe(
    HEADER + line(`"'=cmd, ""x"""`, 1) + line('plain', 2),
  );
  expect(asked).toEqual([
    [7, filter, { after: null, before: '99' }, 200],
    [7, filter, { after: { atMicros: '5', id: hex16(1) }, before: '99' }, 200],
  ]);
});

test('a workspace has four exports under way at most, and a broken one counts no longer', async () => {
  const { exporter } = twoPages();
  const csv = { exporter, slots: new ExportSlots(), titleOf };
  const begun = [];
  for (let one = 0; one < 4; one += 1) {
    const chunks = csvOf(csv, 7, {});
    await chunks.next();
    begun.push(chunks);
  }
  await expect(csvOf(csv, 7, {}).next()).rejects.toMatchObject({ code: 'overloaded' });
  expect((await csvOf(csv, 8, {}).next()).value?.toString()).toBe(HEADER);
  await begun[0]?.return(undefined);
  expect((await csvOf(csv, 7, {}).next()).value?.toString()).toBe(HEADER);
});
