/** Keys, members, ledger, settings: what each role may do, and that everything is a plain form. */

import { describe, expect, test } from 'vitest';
import type { AuditFilter, ListedKey } from '../../../src/model/people.ts';
import { auditPage, type ShownEntry } from '../../../src/web/app/audit.ts';
import { keysPage } from '../../../src/web/app/keys.ts';
import { type MembersPage, membersPage } from '../../../src/web/app/members.ts';
import { type SettingsPage, settingsPage } from '../../../src/web/app/settings.ts';
import type { Viewer } from '../../../src/web/app/shell.ts';
import { HOSTILE, holdsAsText, LOOK, MEMBER, NOW_MS, ruleFacts, viewer } from './fixtures.ts';

const at = (msAgo: number) => new Date(NOW_MS - msAgo);

/** Every form can be sent without a script: a method, an address, and a button. */
function expectPlainForms(page: string): void {
  const forms = page.match(/<form[\s\S]*?<\/form>/g) ?? [];
  expect(forms.length).toBeGreaterThan(1);
  for (const form of forms) {
    expect(form).toMatch(/^<form[^>]* method="(post|get)" action="\/app\//);
    expect(form).toContain('<button');
  }
}

function key(fields: Partial<ListedKey> = {}): ListedKey {
  return {
    id: 7,
    kind: 'agent',
    name: 'collector',
    prefix: 'sluice_live_abcdef',
    rateLimitPerMinute: 100_000,
    createdAt: at(86_400_000),
    lastUsedAt: null,
    revokedAt: null,
    ...fields,
  };
}

describe('keys', () => {
  const page = (keys: readonly ListedKey[], who: Viewer = viewer()): string =>
    keysPage(LOOK, who, { keys, nowMs: NOW_MS }).text;

  test('are shown by their beginning, with their limit and use', () => {
    const text = page([key()]);
    expect(text).toContain('<code>sluice_live_abcdef…</code>');
    expect(text).toContain('100,000');
    expect(text).toContain('1 day ago');
    expectPlainForms(text);
  });

  test('are revoked only after a word of warning; a revoked one not again', () => {
    const text = page([key()]);
    expect(text).toMatch(
      /<summary>Revoke[\s\S]*This cannot be undone[\s\S]*keys\/7\/revoke\?workspace=crew"/,
    );
    expect(page([key({ revokedAt: at(60_000) })])).not.toContain('/revoke');
  });

  test('are made and revoked by admins alone', () => {
    const text = page([key()], MEMBER);
    expect(text).not.toMatch(/data-stay|Create a key|\/revoke/);
    expect(page([], MEMBER)).toContain('ask an admin');
  });

  test('have names that stay text', () => {
    expect(holdsAsText(page([key({ name: HOSTILE })]))).toBe(true);
  });
});

describe('members', () => {
  const ada = {
    userId: 1,
    email: 'ada@people.test',
    displayName: 'Ada',
    role: 'owner',
    createdAt: at(1000),
    lastSeenAt: at(1000),
  } as const;
  const bob = {
    ...ada,
    userId: 2,
    email: 'bob@people.test',
    displayName: 'Bob',
    role: 'member',
  } as const;
  const data: MembersPage = {
    members: [ada, bob],
    invitations: [
      {
        id: 5,
        workspaceId: 1,
        email: 'new@people.test',
        role: 'member',
        createdAt: at(1000),
        expiresAt: at(-86_400_000),
        invitedBy: null,
      },
    ],
    nowMs: NOW_MS,
  };
  const page = (who: Viewer, fields: Partial<MembersPage> = {}): string =>
    membersPage(LOOK, who, { ...data, ...fields }).text;

  test('owners change everybody', () => {
    const text = page(viewer());
    expect(text).toContain('action="/app/members/1?workspace=crew"');
    expect(text).toContain('action="/app/members/2/remove?workspace=crew"');
    expect(text).toContain('action="/app/invitations/5/revoke?workspace=crew"');
    expectPlainForms(text);
  });

  test('admins change no owner, and make none', () => {
    const text = page(viewer({ role: 'admin' }));
    expect(text).not.toContain('action="/app/members/1?workspace=crew"');
    expect(text).toContain('action="/app/members/2?workspace=crew"');
    expect(text).not.toContain('<option value="owner"');
  });

  test('members change nobody, and are not shown invitations', () => {
    const text = page(MEMBER, { invitations: [] });
    expect(text).not.toMatch(/data-stay|Invite a member/);
  });

  test('have names that stay text', () => {
    const hostile = { ...bob, email: HOSTILE, displayName: HOSTILE };
    expect(holdsAsText(page(viewer(), { members: [hostile] }))).toBe(true);
  });
});

describe('the ledger', () => {
  const entry: ShownEntry = {
    seq: '12',
    at: at(60_000),
    actor: 'ada@people.test',
    origin: '127.0.0.1',
    action: 'rule.override',
    subject: 'ATR-2026-00001',
    before: { enabled: null, same: 1 },
    after: { enabled: false, same: 1 },
    hash: 'ab'.repeat(32),
  };
  const page = (
    entries: readonly ShownEntry[],
    next: string | null = null,
    query = '',
    filter: AuditFilter = { actor: null, action: null },
  ): string => auditPage(LOOK, viewer(), { entries, query, filter, next, nowMs: NOW_MS }).text;

  test('tells what changed, and not what stayed', () => {
    const text = page([entry], '11');
    expect(text).toContain('<code>enabled</code>: null → false');
    expect(text).not.toContain('<code>same</code>');
    expect(text).toContain(`<code title="${entry.hash}">ababababab</code>`);
    expect(text).toContain('href="/app/audit?cursor=11"');
  });

  test('has a file of what its filter shows, and a way further where nothing matches', () => {
    const narrow = { actor: 'ana@a.test', action: null };
    const text = page([], '2', 'actor=ana%40a.test&cursor=9', narrow);
    expect(text).toContain('href="/app/audit.csv?actor=ana%40a.test" download');
    expect(text).toContain('No matching entries');
    expect(text).toContain('href="/app/audit?actor=ana%40a.test&amp;cursor=2"');
    expect(text).toContain('Search further');
  });

  test('says what will stand there', () => {
    expect(page([])).toContain('No changes yet');
  });

  test('is text', () => {
    const hostile = { ...entry, actor: HOSTILE, subject: HOSTILE, after: { [HOSTILE]: HOSTILE } };
    expect(holdsAsText(page([hostile]))).toBe(true);
  });
});

describe('settings', () => {
  const session = {
    id: 'a'.repeat(32),
    isThis: true,
    createdAt: at(1000),
    lastSeenAt: at(1000),
    expiresAt: at(-1000),
    kind: 'browser' as const,
    userAgent: 'a browser',
    address: '127.0.0.0/24',
    workspace: 'crew',
  };
  const data: SettingsPage = {
    slug: 'crew',
    redactExcerpts: false,
    evidenceKey: 'MCowBQYDK2VwAyEA',
    redaction: null,
    rules: ruleFacts(),
    sessions: [session, { ...session, id: 'b'.repeat(32), isThis: false }],
    workspaces: [{ slug: 'crew', name: 'Crew' }],
    passwordCharsMin: 12,
    nowMs: NOW_MS,
  };
  const page = (fields: Partial<SettingsPage> = {}, who: Viewer = viewer()): string =>
    settingsPage(LOOK, who, { ...data, ...fields }).text;

  test('everything is a plain form', () => {
    expectPlainForms(page());
  });

  test('say how many rules run, by state, on every plan', () => {
    const text = page({}, viewer({ plan: 'free' }));
    expect(text).toContain('51 of 1,800 rules run');
    expect(text).toContain('Off, experimental tier');
    expect(text).not.toContain('/app/rules?state=');
    expect(page()).toContain('/app/rules?state=off_by_tier');
  });

  test('the page says that redaction is final before it is switched on', () => {
    expect(page()).toMatch(/This cannot be undone[\s\S]*name="redact_excerpts"[^>]*value="true"/);
    expect(page({ redactExcerpts: true })).toMatch(/name="redact_excerpts"[^>]*value="false"/);
  });

  test('members have their sessions and their password, and nothing of the workspace', () => {
    const text = page({}, MEMBER);
    expect(text).not.toMatch(/name="redact_excerpts"|name="name"/);
    expect(text).toContain('action="/app/password"');
    expect(text).toContain(`action="/app/sessions/${'b'.repeat(32)}/end"`);
  });

  test('one’s own session is not ended here, and of one alone no others are', () => {
    expect(page()).not.toContain(`/app/sessions/${'a'.repeat(32)}/end`);
    expect(page({ sessions: [session] })).not.toContain('end-others');
  });

  test('who belongs to several workspaces can go to another', () => {
    expect(page()).not.toContain('action="/app/workspace"');
    const several = [...data.workspaces, { slug: 'other', name: HOSTILE }];
    const text = page({ workspaces: several });
    expect(text).toContain('<option value="crew" selected>Crew</option>');
    expect(holdsAsText(text)).toBe(true);
  });
});
