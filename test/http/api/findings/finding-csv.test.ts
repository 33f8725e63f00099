/** Findings as CSV: exact bytes, nothing a spreadsheet would run, never an excerpt, page by page. */
import { describe, expect, test } from 'vitest';
import type { WorkspaceReader } from '../../../../src/db/connection-turns.ts';
import type { ExportRange } from '../../../../src/db/findings/findings.ts';
import type { ApiContext } from '../../../../src/http/api/authorized.ts';
import { cell, csvOf, ExportSlots } from '../../../../src/http/api/findings/finding-export.ts';
import type { FindingFilter } from '../../../../src/model/findings.ts';
import { findingDraft, hex16, NO_FACTS } from '../../../support/rows.ts';

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
    ['\t=1', "'\t'=1"],
    ['\tword', "'\tword"],
    ['\r=1', '"\'\r\'=1"'],
    ['\n=1', '"\'\n\'=1"'],
    [' =1', "' =1"],
    ['\ufeff=1', "'\ufeff=1"],
    ['＝1', "'＝1"],
    ['＠x', "'＠x"],
    ['=HYPERLINK("https://evil.test","x")', '"\'=HYPERLINK(""https://evil.test"",""x"")"'],
  ])('%j, which a spreadsheet may run, becomes the text %j', (value, text) => {
    expect(cell(value)).toBe(text);
  });
});

describe('a cell in a spreadsheet that separates by semicolons or tabs', () => {
  test.each([
    ['a;=1+1', "a;'=1+1"],
    ['a; +1', "a;' +1"],
    ['a\t=1', "a\t'=1"],
    ['a;\t-1', "a;'\t'-1"],
    ['a;"@x"', `"a;'""@x"""`],
    ['a\n=1', '"a\n\'=1"'],
    ['a\u2028=1', "a\u2028'=1"],
    ['\u200b=1', "'\u200b=1"],
    ['\u00a0=1', "'\u00a0=1"],
    ['\u202e=1', "'\u202e=1"],
    ['\u0000=1', "'\u0000=1"],
    ['\u{e0020}=1', "'\u{e0020}=1"],
    ['"=1', `"'""=1"`],
    ['a;\ufeff＝1', "a;'\ufeff＝1"],
    ['﹣1', "'﹣1"],
    ['−1', "'−1"],
  ])('%j becomes the text %j', (value, text) => {
    expect(cell(value)).toBe(text);
  });

  test.each(['a; b', 'a;b=c', 'curl -s; echo', 'step-1', 'a\tb', 'x – y', 'who@where.test'])(
    '%j stays as it is',
    (value) => {
      expect(cell(value)).toBe(value);
    },
  );

  /**
   * Cells as a spreadsheet may read them: split at `separators`, with or without heed to quotes.
   */
  function readings(line: string, separators: string, heedsQuotes: boolean): string[] {
    const cells = [''];
    let isQuoted = false;
    for (const character of line) {
      if (heedsQuotes && character === '"') {
        isQuoted = !isQuoted;
        cells.push(`${cells.pop() ?? ''}"`);
      } else if (!isQuoted && (separators.includes(character) || /[\r\n\v\f]/.test(character))) {
        cells.push('');
      } else cells.push((cells.pop() ?? '') + character);
    }
    return cells;
  }

  /** The first thing that shows, in its ordinary width. */
  const firstSeen = (text: string): string => {
    const [shown = ''] = [...text].filter((character) =>
      /[^\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\s"]/u.test(character),
    );
    return shown.normalize('NFKC').replace('\u2212', '-');
  };

  test('no reading of any text begins with a formula, and nothing of it is lost', () => {
    const alphabet = [
      ...['=', '+', '-', '@', '＝', '＋', '－', '＠', '﹢', '⁺', '−', ';', '\t', ',', '"', "'"],
      ...[
        '\n',
        '\r',
        '\v',
        ' ',
        '\u00a0',
        '\u200b',
        '\ufeff',
        '\u2060',
        '\u202e',
        '\u0000',
        '\u0085',
      ],
      ...['\u00ad', '\u{e0041}', '\ufe0f', '\u3000', 'a', 'B', '1', '(', '|', '界', '🙂'],
    ];
    let seed = 20261122;
    const random = (below: number): number => {
      seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
      return Math.floor((seed / 2 ** 32) * below);
    };
    for (let round = 0; round < 50_000; round += 1) {
      const value = Array.from({ length: random(9) }, () => alphabet[random(alphabet.length)]).join(
        '',
      );
      const written = cell(value);
      for (const separators of [',', ';', '\t', ',;\t']) {
        for (const heedsQuotes of separators.includes(',') ? [true] : [true, false]) {
          for (const read of readings(written, separators, heedsQuotes)) {
            const first = firstSeen(read);
            if (first === '' || !'=+-@'.includes(first)) continue;
            expect.unreachable(JSON.stringify({ value, separators, heedsQuotes, first }));
          }
        }
      }
      const unquoted = /^".*"$/s.test(written)
        ? written.slice(1, -1).replaceAll('""', '"')
        : written;
      expect(unquoted.replaceAll("'", '')).toBe(value.replaceAll("'", ''));
    }
  });
});

const HEADER =
  'created_at,severity,category,rule_id,rule_title,rule_version,rule_status,surface,field,' +
  'step_name,step_span_id,run_id,finding_id,corpus_version,corpus_identity,url,agent,service,user_id,session_id,' +
  'model,tool,reference_ids,state,assignee,is_excepted\r\n';

function facts(id: number, stepName: string) {
  const { excerpt: _, ...draft } = findingDraft({ stepName, stepSpanId: null });
  return {
    ...draft,
    ...NO_FACTS,
    agentName: '@planner',
    serviceName: 'shop',
    userId: 'u-1',
    sessionId: 's-1',
    model: 'm-1',
    toolName: 'shell',
    id: hex16(id),
    runId: hex16(0xc1),
    createdAt: new Date('2026-11-21T10:00:00.123Z'),
    corpusVersion: '4.0.0',
    corpusIdentity: 'c0'.repeat(20),
  };
}

/** An export of two pages, the queries it received, and their readers. */
function twoPages() {
  const queries: unknown[] = [];
  const readers: WorkspaceReader[] = [];
  const next = { atMicros: '5', id: hex16(1) };
  const db = {
    settledBefore: async () => '99',
    read: async (
      _read: unknown,
      reader: WorkspaceReader,
      ...[filter, range, limit]: [FindingFilter, ExportRange, number]
    ) => {
      readers.push(reader);
      queries.push([reader.workspaceId, filter, range, limit]);
      return range.after === null
        ? { findings: [facts(1, '=cmd, "x"')], next }
        : { findings: [facts(2, 'plain')], next: null };
    },
  };
  const rules = {
    titleOf: (id: string): string => `the "title" of ${id}`,
    references: { idsOf: () => ['LLM01:2025', 'AML.T0051'] },
  };
  const context = { db, rules, baseUrl: 'https://sluice.test' } as unknown as ApiContext;
  return { context, queries, readers };
}

async function textOf(chunks: AsyncIterable<Buffer>): Promise<string> {
  const parts: Buffer[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return Buffer.concat(parts).toString('utf8');
}

test('every page is read for a client that may leave', async () => {
  const { signal } = new AbortController();
  const { context, readers } = twoPages();
  await textOf(csvOf(context, new ExportSlots(), { workspaceId: 7, signal }, {}));
  const reader = { workspaceId: 7, signal, isExport: true };
  expect(readers).toEqual([reader, reader]);
});

test('a file is its header and a line per finding, to the byte', async () => {
  const { context, queries } = twoPages();
  const filter: FindingFilter = { severity: 'high' };
  const line = (step: string, id: number): string =>
    '2026-11-21T10:00:00.123Z,high,atr_prompt_injection,ATR-2026-00001,' +
    `"the ""title"" of ATR-2026-00001",1.0.0,stable,tool_result,tool_response,${step},,` +
    `${hex16(0xc1)},${hex16(id)},4.0.0,${'c0'.repeat(20)},` +
    `https://sluice.test/app/findings/${hex16(id)},'@planner,shop,u-1,s-1,m-1,shell,LLM01:2025 AML.T0051,new,,false\r\n`;
  expect(await textOf(csvOf(context, new ExportSlots(), { workspaceId: 7 }, filter))).toBe(
    HEADER + line(`"'=cmd, ""x"""`, 1) + line('plain', 2),
  );
  expect(queries).toEqual([
    [7, filter, { after: null, before: '99' }, 200],
    [7, filter, { after: { atMicros: '5', id: hex16(1) }, before: '99' }, 200],
  ]);
});

test('a workspace has four exports under way at most, and a broken one counts no longer', async () => {
  const { context } = twoPages();
  const slots = new ExportSlots();
  const exportOf = (workspaceId: number) => csvOf(context, slots, { workspaceId }, {});
  const begun = [];
  for (let one = 0; one < 4; one += 1) {
    const chunks = exportOf(7);
    await chunks.next();
    begun.push(chunks);
  }
  await expect(exportOf(7).next()).rejects.toMatchObject({ code: 'overloaded' });
  expect((await exportOf(8).next()).value?.toString()).toBe(HEADER);
  await begun[0]?.return(undefined);
  expect((await exportOf(7).next()).value?.toString()).toBe(HEADER);
});
