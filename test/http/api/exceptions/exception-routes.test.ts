/** The exceptions in the read API: every member, and the filters. */
import { expect, test } from 'vitest';
import type { ApiContext } from '../../../../src/http/api/authorized.ts';
import { listExceptions } from '../../../../src/http/api/exceptions/exception-routes.ts';
import type { Exchange } from '../../../../src/http/transport/exchange.ts';
import { InvalidInput } from '../../../../src/http/transport/input.ts';
import type { FindingException } from '../../../../src/model/exceptions.ts';
import type { Credential } from '../../../../src/model/people.ts';

const CREDENTIAL: Credential = {
  keyId: 1,
  workspaceId: 7,
  kind: 'workspace',
  rateLimitPerMinute: 10,
  redaction: null,
};
const MADE = new Date('2026-11-20T12:00:00.123Z');

const exception = (fields: Partial<FindingException> = {}): FindingException => ({
  id: 3,
  ruleId: 'ATR-2026-00001',
  text: false,
  tool: null,
  agent: 'planner',
  service: null,
  reason: 'expected',
  createdBy: 'ann@crew.test',
  createdAt: MADE,
  expiresAt: new Date('2026-12-20T12:00:00Z'),
  endedAt: null,
  endedBy: null,
  isActive: true,
  hidden: { count: 0, last: null, isCut: false },
  ...fields,
});
const ENDED = exception({
  id: 2,
  ruleId: 'ATR-2026-00002',
  text: true,
  agent: '',
  endedAt: MADE,
  endedBy: 'bob@crew.test',
  isActive: false,
  hidden: { count: 5000, last: MADE, isCut: true },
});

async function list(query: string): Promise<{ readonly exceptions: readonly { id: number }[] }> {
  const workspaces: number[] = [];
  const readFresh = async (_read: unknown, workspaceId: number) => {
    workspaces.push(workspaceId);
    return [exception(), ENDED];
  };
  const context = { db: { readFresh } } as unknown as ApiContext;
  // The handler reads the query and nothing else of the exchange.
  const answer = await listExceptions(context)({ query } as Exchange, CREDENTIAL, {});
  expect(workspaces).toEqual([7]);
  return JSON.parse(String(answer.body));
}

test('every member of an exception', async () => {
  expect(await list('')).toEqual({
    exceptions: [
      {
        id: 3,
        rule_id: 'ATR-2026-00001',
        text: false,
        tool: null,
        agent: 'planner',
        service: null,
        reason: 'expected',
        created_by: 'ann@crew.test',
        created_at: '2026-11-20T12:00:00.123Z',
        expires_at: '2026-12-20T12:00:00.000Z',
        ended_at: null,
        ended_by: null,
        is_active: true,
        hidden: { count: 0, is_exact: true, last_at: null },
      },
      {
        id: 2,
        rule_id: 'ATR-2026-00002',
        text: true,
        tool: null,
        agent: '',
        service: null,
        reason: 'expected',
        created_by: 'ann@crew.test',
        created_at: '2026-11-20T12:00:00.123Z',
        expires_at: '2026-12-20T12:00:00.000Z',
        ended_at: '2026-11-20T12:00:00.123Z',
        ended_by: 'bob@crew.test',
        is_active: false,
        hidden: { count: 5000, is_exact: false, last_at: '2026-11-20T12:00:00.123Z' },
      },
    ],
  });
});

test.each([
  ['active=true', [3]],
  ['active=false', [2]],
  ['rule_id=ATR-2026-00002', [2]],
  ['rule_id=ATR-2026-00002&active=true', []],
  ['rule_id=ATR-2026-99999', []],
])('%s selects %j', async (query, ids) => {
  const { exceptions } = await list(query);
  expect(exceptions.map(({ id }) => id)).toEqual(ids);
});

test.each(['active=yes', 'rule_id=1'])('%s is refused', async (query) => {
  await expect(list(query)).rejects.toThrow(InvalidInput);
});
