/**
 * The export as its consumers see it: lines, pages that follow each other, filters, polling with
 * `after`, how many at once. Which findings there are is the reader's business.
 */
import { beforeEach, describe, expect, test } from 'vitest';
import type { WorkspaceReader } from '../../../../src/db/connection-turns.ts';
import type { ExportRange, FindingFacts } from '../../../../src/db/findings/findings.ts';
import type { ApiContext } from '../../../../src/http/api/authorized.ts';
import { exportFindings } from '../../../../src/http/api/findings/finding-export.ts';
import type { Exchange, StreamedAnswer } from '../../../../src/http/transport/exchange.ts';
import { InvalidInput } from '../../../../src/http/transport/input.ts';
import type { FindingFilter } from '../../../../src/model/findings.ts';
import type { Credential } from '../../../../src/model/people.ts';
import { referenceIndex } from '../../../../src/model/references/rule-references.ts';
import type { PageCursor } from '../../../../src/model/runs.ts';
import { findingDraft, hex16, NO_FACTS } from '../../../support/rows.ts';

const SETTLED = '1795176000000000';
const PAGE = 200;

type Question = [workspaceId: number, filter: FindingFilter, range: ExportRange, limit: number];

let stored: number;
let queries: Question[];
/** what reading a page waits for */
let gate: Promise<void>;

beforeEach(() => {
  stored = 3;
  queries = [];
  gate = Promise.resolve();
});

function factsOf(number: number): FindingFacts {
  const { excerpt: _, ...draft } = findingDraft();
  return {
    ...draft,
    ...NO_FACTS,
    id: hex16(number),
    createdAt: new Date('2026-11-20T12:00:00Z'),
    runId: hex16(1000 + number),
    corpusVersion: '4.0.0',
    corpusIdentity: 'c0'.repeat(20),
  };
}

const cursorOf = (number: number): PageCursor => ({ atMicros: '1', id: hex16(number) });

/** Has the findings 1 to `stored`. */
const db = {
  find: async (_find: unknown, workspaceId: number, id: string) => {
    const number = Number.parseInt(id, 16);
    return workspaceId === 7 && number <= stored ? cursorOf(number) : null;
  },
  settledBefore: async () => SETTLED,
  read: async (
    _read: unknown,
    { workspaceId }: WorkspaceReader,
    ...[filter, range, limit]: [FindingFilter, ExportRange, number]
  ) => {
    queries.push([workspaceId, filter, range, limit]);
    await gate;
    const { after } = range;
    const first = after === null ? 1 : Number.parseInt(after.id, 16) + 1;
    const last = Math.min(stored, first + limit - 1);
    const count = Math.max(0, last - first + 1);
    return {
      findings: Array.from({ length: count }, (_, index) => factsOf(first + index)),
      next: last < stored ? cursorOf(last) : null,
    };
  },
};

const source = {
  productVersion: '0.1.0',
  baseUrl: 'https://sluice.test',
  ruleTitle: () => undefined,
  ruleAttacks: () => [],
  references: referenceIndex([]),
};
let handler: ReturnType<typeof exportFindings>;
beforeEach(() => {
  const context = { db, rules: { references: source.references }, nowMs: () => Date.now() };
  handler = exportFindings(context as unknown as ApiContext, source);
});

async function ask(query = '', workspaceId = 7): Promise<StreamedAnswer> {
  const credential: Credential = {
    keyId: 1,
    workspaceId,
    kind: 'workspace',
    rateLimitPerMinute: 10,
    redaction: null,
  };
  // The handler reads the query and nothing else of the exchange.
  return await handler({ query } as Exchange, credential, {});
}

async function read({ chunks }: StreamedAnswer): Promise<string> {
  const parts: Buffer[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return Buffer.concat(parts).toString();
}

async function uids(query: string): Promise<number[]> {
  const text = await read(await ask(query));
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => Number.parseInt(JSON.parse(line).finding_info.uid, 16));
}

describe('the lines', () => {
  test('are one JSON object each, every one ended', async () => {
    const answer = await ask();
    expect(answer.contentType).toBe('application/x-ndjson');
    const text = await read(answer);
    expect(text.endsWith('}\n')).toBe(true);
    const lines = text.split('\n').slice(0, -1);
    expect(lines.map((line) => JSON.parse(line).class_uid)).toEqual([2004, 2004, 2004]);
  });

  test('of nothing are none', async () => {
    stored = 0;
    expect(await read(await ask())).toBe('');
  });

  test('are read page after page, all before the same time', async () => {
    stored = 2 * PAGE + 1;
    expect(await uids('')).toEqual(Array.from({ length: stored }, (_, index) => index + 1));
    expect(queries).toEqual([
      [7, {}, { after: null, before: SETTLED }, PAGE],
      [7, {}, { after: cursorOf(PAGE), before: SETTLED }, PAGE],
      [7, {}, { after: cursorOf(2 * PAGE), before: SETTLED }, PAGE],
    ]);
  });

  test('are read only as they are taken', async () => {
    stored = 100 * PAGE;
    const { chunks } = await ask();
    expect(queries).toHaveLength(0);
    let taken = 0;
    for await (const _ of chunks) {
      taken += 1;
      expect(queries).toHaveLength(taken);
      if (taken === 3) break;
    }
    expect(queries).toHaveLength(3);
  });
});

describe('the query', () => {
  test('chooses by the same filters as the list', async () => {
    const until = encodeURIComponent('2026-11-02T00:00:00+01:00');
    await uids(
      `severity=low&category=atr_tool_poisoning&rule_id=ATR-2026-00001&run_id=${hex16(0xab)}` +
        `&since=2026-11-01&until=${until}`,
    );
    expect(queries.map(([, filter]) => filter)).toEqual([
      {
        severity: 'low',
        category: 'tool-poisoning',
        ruleId: 'ATR-2026-00001',
        runId: hex16(0xab),
        since: new Date('2026-11-01T00:00:00Z'),
        until: new Date('2026-11-01T23:00:00Z'),
      },
    ]);
  });

  test('continues after a finding', async () => {
    stored = 12;
    expect(await uids(`after=${hex16(10)}`)).toEqual([11, 12]);
    expect(await uids(`after=${hex16(11).toUpperCase()}`)).toEqual([12]);
    expect(await uids(`after=${hex16(12)}`)).toEqual([]);
  });

  test('names everything that is wrong with it', async () => {
    const query =
      'severity=bad&category=tool-poisoning&rule_id=1&run_id=x&since=now&until=1&after=x';
    const refused = await ask(query).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(InvalidInput);
    expect((refused as InvalidInput).faults.map(({ path }) => path).sort()).toEqual([
      'after',
      'category',
      'rule_id',
      'run_id',
      'severity',
      'since',
      'until',
    ]);
  });

  test('names `after` when the workspace has no such finding', async () => {
    const faults = [
      { path: 'after', message: 'is no finding of this workspace, or past retention; use since' },
    ];
    await expect(ask(`after=${hex16(4)}`)).rejects.toMatchObject({ code: 'bad_query', faults });
    await expect(ask(`after=${hex16(1)}`, 8)).rejects.toMatchObject({ faults });
    expect(queries).toEqual([]);
  });
});

describe('exports under way', () => {
  let openGate: () => void;
  beforeEach(() => {
    gate = new Promise((resolve) => {
      openGate = resolve;
    });
  });

  const start = async (workspaceId: number) => read(await ask('', workspaceId));
  const refused = { code: 'overloaded', retryAfterSeconds: 1 };

  test('are four of a workspace', async () => {
    const running = [7, 7, 7, 7, 8].map(start);
    await expect(start(7)).rejects.toMatchObject(refused);
    openGate();
    await Promise.all(running);
    await start(7);
  });

  test('are 32 in all', async () => {
    const running = Array.from({ length: 32 }, (_, index) => start(index));
    await expect(start(100)).rejects.toMatchObject(refused);
    openGate();
    await Promise.all(running);
    await start(100);
  });

  test('are over when their reader leaves, and when reading fails', async () => {
    openGate();
    stored = 2 * PAGE;
    for (let time = 0; time < 40; time += 1) {
      for await (const _ of (await ask()).chunks) break;
    }
    gate = Promise.reject(new Error('away'));
    for (let time = 0; time < 40; time += 1) await expect(start(7)).rejects.toThrow('away');
    gate = Promise.resolve();
    expect(await uids('')).toHaveLength(stored);
  });

  test('are not counted before anybody reads', async () => {
    openGate();
    for (let time = 0; time < 40; time += 1) await ask();
    expect(await uids('')).toEqual([1, 2, 3]);
  });
});
