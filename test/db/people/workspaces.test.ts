/** Workspaces, what they decide about rules, and the first one of a fresh database. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readWorkspaceSettings } from '../../../src/db/findings/rule-settings.ts';
import { ensureFirstWorkspace } from '../../../src/db/people/first-start.ts';
import { digestKey, findCredential, listKeys } from '../../../src/db/people/keys.ts';
import { listMemberships } from '../../../src/db/people/memberships.ts';
import { signInByPassword } from '../../../src/db/people/sign-in.ts';
import {
  createWorkspace,
  findWorkspace,
  listWorkspaces,
} from '../../../src/db/people/workspaces.ts';
import { OperatorError } from '../../../src/errors.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../../support/database.ts';

const FIRST = { brand: 'acme', ownerEmail: 'owner@acme.test' };

let scratch: MigratedDatabase;

beforeEach(async () => {
  scratch = await openMigratedDatabase();
});
afterEach(() => scratch.close());

describe('workspaces', () => {
  test('are made and listed oldest first', async () => {
    const made = await createWorkspace(scratch.database, 'zebra', 'Zebra & Co');
    await createWorkspace(scratch.database, 'ant', 'Ant');
    expect(made).toEqual({
      id: made.id,
      slug: 'zebra',
      name: 'Zebra & Co',
      plan: 'free',
      redactExcerpts: false,
      createdAt: expect.any(Date),
    });
    expect((await listWorkspaces(scratch.database)).map(({ slug }) => slug)).toEqual([
      'zebra',
      'ant',
    ]);
  });

  test('are not made twice under one slug', async () => {
    await createWorkspace(scratch.database, 'one', 'One');
    await expect(createWorkspace(scratch.database, 'one', 'Another')).rejects.toEqual(
      new OperatorError('A workspace "one" exists already.'),
    );
  });

  test.each(['a', '0', 'a-b', 'a'.repeat(63)])('"%s" is a slug', async (slug) => {
    expect((await createWorkspace(scratch.database, slug, 'x')).slug).toBe(slug);
  });

  test.each(['', '-a', 'A', 'a b', 'é', 'a_b', 'a'.repeat(64)])('"%s" is none', async (slug) => {
    await expect(createWorkspace(scratch.database, slug, 'x')).rejects.toBeInstanceOf(
      OperatorError,
    );
  });

  test('are found by slug, or as the only one; else what is missing is said', async () => {
    const { database } = scratch;
    await expect(findWorkspace(database, null)).rejects.toEqual(
      new OperatorError('There is no workspace yet: sluice workspace create SLUG'),
    );
    await expect(findWorkspace(database, 'one')).rejects.toEqual(
      new OperatorError('There is no workspace "one". Existing workspaces: none'),
    );
    await createWorkspace(database, 'one', 'One');
    expect((await findWorkspace(database, null)).slug).toBe('one');
    await createWorkspace(database, 'two', 'Two');
    expect((await findWorkspace(database, 'two')).slug).toBe('two');
    await expect(findWorkspace(database, null)).rejects.toEqual(
      new OperatorError('There are several workspaces; choose one with --workspace: one, two'),
    );
    await expect(findWorkspace(database, 'three')).rejects.toEqual(
      new OperatorError('There is no workspace "three". Existing workspaces: one, two'),
    );
  });
});

test('what workspaces decide about rules, of several at once', async () => {
  const { database } = scratch;
  const plain = await createWorkspace(database, 'plain', 'Plain');
  const decided = await createWorkspace(database, 'decided', 'Decided');
  await database.query(
    'UPDATE workspaces SET experimental = true, redact_excerpts = true WHERE id = $1',
    [decided.id],
  );
  await database.query(
    `INSERT INTO rule_overrides (workspace_id, rule_id, enabled)
     VALUES ($1, 'ATR-2026-00001', true), ($1, 'ATR-2026-00002', false)`,
    [decided.id],
  );
  expect(await readWorkspaceSettings(database, [plain.id, decided.id, 404])).toEqual(
    new Map([
      [plain.id, { experimental: false, redactExcerpts: false, overrides: new Map() }],
      [
        decided.id,
        {
          experimental: true,
          redactExcerpts: true,
          overrides: new Map([
            ['ATR-2026-00001', true],
            ['ATR-2026-00002', false],
          ]),
        },
      ],
    ]),
  );
  expect(await readWorkspaceSettings(database, [])).toEqual(new Map());
});

describe('the first start', () => {
  test('makes a workspace, its owner and a key of each kind, and nothing the second time', async () => {
    const { database } = scratch;
    const first = await ensureFirstWorkspace(database, FIRST);
    expect(first).toEqual({
      workspace: 'default',
      agentKey: expect.stringMatching(/^acme_live_/),
      workspaceKey: expect.stringMatching(/^acme_key_/),
      owner: {
        email: 'owner@acme.test',
        password: expect.stringMatching(/^(?:[a-km-np-z2-9]{5}-){4}[a-km-np-z2-9]{5}$/),
      },
    });
    const { email = '', password = '' } = first?.owner ?? {};
    const owner = await signInByPassword(database, email, password);
    expect(await listMemberships(database, owner?.id ?? 0)).toEqual([
      { slug: 'default', name: 'Default', role: 'owner' },
    ]);
    expect(await ensureFirstWorkspace(database, FIRST)).toBeNull();
    const kinds = [first?.agentKey, first?.workspaceKey].map(
      async (key) => (await findCredential(database, digestKey(key ?? '')))?.kind,
    );
    expect(await Promise.all(kinds)).toEqual(['agent', 'workspace']);
  });

  test('of several processes at once makes one workspace', async () => {
    const { database } = scratch;
    const starts = await Promise.all(
      Array.from({ length: 6 }, () => ensureFirstWorkspace(database, FIRST)),
    );
    expect(starts.filter((keys) => keys !== null)).toHaveLength(1);
    expect(await listWorkspaces(database)).toHaveLength(1);
    expect(await listKeys(database, null)).toHaveLength(2);
  });

  test('leaves a database alone that has a workspace', async () => {
    await createWorkspace(scratch.database, 'mine', 'Mine');
    expect(await ensureFirstWorkspace(scratch.database, FIRST)).toBeNull();
    expect(await listKeys(scratch.database, null)).toEqual([]);
  });
});
