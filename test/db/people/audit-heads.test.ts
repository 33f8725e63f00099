/** Heads of audit logs: kept in the log and the data folder, never replaced by those of a log that was cut off. */
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';

import { inTransaction } from '../../../src/db/database.ts';
import { recorded, verifyAudit } from '../../../src/db/people/audit.ts';
import { headText } from '../../../src/db/people/audit-chain.ts';
import { createWorkspace } from '../../../src/db/people/workspaces.ts';
import {
  HEADS_EVERY_MS,
  type HeadsFile,
  headsFileOf,
  keepAuditHeads,
} from '../../../src/main/audit-heads-file.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../../support/database.ts';

let scratch: MigratedDatabase;
let workspaceId: number;
let folder: string;
let file: HeadsFile;

beforeAll(async () => {
  scratch = await openMigratedDatabase();
  workspaceId = (await createWorkspace(scratch.database, 'w', 'A workspace')).id;
});
afterAll(() => scratch.close());

/** A server as far as it keeps heads; `turn` and `stop` each end with everything kept. */
function startServer() {
  const events = {
    auditHeadsChanged: vi.fn<(heads: readonly string[]) => void>(),
    auditHeadsKept: vi.fn(),
    auditHeadsUnkept: vi.fn<(error: unknown) => void>(),
    auditLogsCut: vi.fn<(workspaces: readonly number[], path: string) => void>(),
    auditLogsWhole: vi.fn(),
  };
  let end = async (): Promise<void> => {};
  keepAuditHeads(scratch.database, folder, events, {
    add: (_name, run) => {
      end = async () => await run();
    },
  });
  const turns = () =>
    events.auditHeadsKept.mock.calls.length + events.auditHeadsUnkept.mock.calls.length;
  const turned = (count: number) => vi.waitFor(() => expect(turns()).toBe(count));
  return { events, turns, turned, stop: () => end() };
}

async function append(entries = 1): Promise<void> {
  const actor = { userId: null, name: 'operator', origin: 'a test' };
  for (let entry = 0; entry < entries; entry += 1) {
    await recorded(scratch.database, workspaceId, actor, (_connection, record) =>
      record({ action: 'rules.override', subject: `ATR-2026-0000${entry}` }),
    );
  }
}

/** Gets past the refusal, as only the table's owner can. */
async function cutAfter(seq: number): Promise<void> {
  await inTransaction(scratch.database, async (connection) => {
    await connection.query('ALTER TABLE audit_ledger DISABLE TRIGGER audit_ledger_stays');
    await connection.query('DELETE FROM audit_ledger WHERE workspace_id = $1 AND seq > $2', [
      workspaceId,
      seq,
    ]);
    await connection.query('ALTER TABLE audit_ledger ENABLE ALWAYS TRIGGER audit_ledger_stays');
  });
}

/** What `sluice audit verify` finds. */
async function verify(): Promise<string | null> {
  const kept = file.read()?.get(workspaceId);
  const known = kept === undefined ? [] : [kept];
  return (await verifyAudit(scratch.database, workspaceId, known)).broken?.why ?? null;
}

const headNow = async () => (await verifyAudit(scratch.database, workspaceId)).head;
const lineNow = async () => `${workspaceId} ${headText(await headNow())}`;
const keptNow = () => file.read()?.get(workspaceId);

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-heads-'));
  file = await headsFileOf(folder, scratch.database);
  await cutAfter(0);
});
afterEach(async () => {
  vi.useRealTimers();
  await rm(folder, { recursive: true, force: true });
});

/** A server that has started and stopped: it has kept the head. */
async function keepOnce() {
  const server = startServer();
  await server.turned(1);
  await server.stop();
  return server.events;
}

describe('a log', () => {
  test('whose end was cut off is whole in itself, and lacks the entry that was kept', async () => {
    await append(4);
    const { auditHeadsChanged, auditLogsCut } = await keepOnce();
    expect(auditHeadsChanged.mock.calls).toEqual([[[await lineNow()]]]);
    expect(await verify()).toBeNull();
    await append();
    expect(await verify()).toBeNull();
    // What came after the kept entry can be cut off unseen, the kept entry cannot.
    await cutAfter(4);
    expect(await verify()).toBeNull();
    await cutAfter(3);
    expect(await verify()).toBe('the log was cut off after entry 3');
    await cutAfter(0);
    expect(await verify()).toBe('the log was cut off after entry 0');
    expect(auditLogsCut).not.toHaveBeenCalled();
  });

  test('with others in place of the entries that were cut off is found', async () => {
    await append(2);
    await keepOnce();
    await cutAfter(1);
    await append(2);
    expect(await verify()).toBe('it differs from the entry that was there earlier');
  });

  test('that was cut off never replaces what was kept; deleting the file accepts it', async () => {
    await append(3);
    await keepOnce();
    const kept = keptNow();
    await cutAfter(1);
    const server = startServer();
    await server.turned(1);
    // Also once it is longer than it was.
    await append(4);
    await server.stop();
    expect(server.events.auditLogsCut.mock.calls).toEqual(
      Array(2).fill([[workspaceId], file.path]),
    );
    expect(server.events.auditHeadsChanged).not.toHaveBeenCalled();
    expect(keptNow()).toEqual(kept);
    rmSync(file.path);
    const { auditLogsCut, auditHeadsChanged } = await keepOnce();
    expect(auditLogsCut).not.toHaveBeenCalled();
    expect(auditHeadsChanged.mock.calls).toEqual([[[await lineNow()]]]);
    expect(await verify()).toBeNull();
  });
});

describe('heads are kept', () => {
  test('at the start, after the interval and at the stop, where they have changed', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    await append();
    const server = startServer();
    const { auditHeadsChanged } = server.events;
    await server.turned(1);
    const first = await headNow();
    expect(keptNow()).toEqual(first);
    await append();
    vi.advanceTimersByTime(HEADS_EVERY_MS - 1);
    expect(server.turns()).toBe(1);
    expect(keptNow()).toEqual(first);
    vi.advanceTimersByTime(1);
    await server.turned(2);
    const second = await headNow();
    expect(keptNow()).toEqual(second);
    vi.advanceTimersByTime(HEADS_EVERY_MS);
    await server.turned(3);
    expect(auditHeadsChanged).toHaveBeenCalledTimes(2);
    await append();
    await server.stop();
    expect(keptNow()).toEqual(await headNow());
    expect(auditHeadsChanged).toHaveBeenCalledTimes(3);
  });

  test('in a file that only its user can read, whole or not at all', async () => {
    await append();
    await keepOnce();
    expect(statSync(file.path).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(file.path, 'utf8'))).toEqual({
      database: expect.stringMatching(/^\d+ \w+$/),
      heads: { [workspaceId]: headText(await headNow()) },
    });
    // What an interrupted write has left is no obstacle.
    const draft = `${file.path}.${process.pid}.new`;
    writeFileSync(draft, '{');
    await append();
    await keepOnce();
    expect(existsSync(draft)).toBe(false);
    expect(keptNow()).toEqual(await headNow());
  });

  test('in the log and the process alone where there is no folder', async () => {
    rmSync(folder, { recursive: true });
    await append(2);
    const server = startServer();
    await server.turned(1);
    expect(server.events.auditHeadsChanged.mock.calls).toEqual([[[await lineNow()]]]);
    await cutAfter(1);
    await server.stop();
    expect(server.events.auditLogsCut).toHaveBeenCalledTimes(1);
    expect(existsSync(folder)).toBe(false);
  });

  test('no longer while the file holds something else, which is left as it is', async () => {
    writeFileSync(file.path, '{"heads":{}');
    await append();
    const { auditHeadsUnkept } = await keepOnce();
    expect(String(auditHeadsUnkept.mock.calls[0]?.[0])).toContain('does not hold heads');
    expect(readFileSync(file.path, 'utf8')).toBe('{"heads":{}');
    for (const text of ['{}', '{"database":"d","heads":{"1":"1:ab"}}']) {
      writeFileSync(file.path, text);
      expect(file.read).toThrow(`${file.path} does not hold heads of audit logs; delete it`);
    }
  });
});
