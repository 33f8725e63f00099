/** Saved views: whose they are, who may change them, how many there may be, and what the ledger says. */
import { afterAll, beforeAll, expect, test } from 'vitest';

import {
  deleteFindingView,
  listFindingViews,
  saveFindingView,
  setDefaultFindingView,
} from '../../../src/db/findings/finding-views.ts';
import { removeMember } from '../../../src/db/people/member-writes.ts';
import { createWorkspace } from '../../../src/db/people/workspaces.ts';
import { FINDING_VIEWS_MAX } from '../../../src/model/findings.ts';
import type { Actor } from '../../../src/model/people.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../../support/database.ts';
import { addPerson } from '../../support/people.ts';

let scratch: MigratedDatabase;
let mine: number;
let ann: Actor;
let bob: Actor;
let admin: Actor;

async function person(role: 'member' | 'admin'): Promise<Actor> {
  const { id, email } = await addPerson(scratch.database, mine, role);
  return { userId: id, name: email, origin: '127.0.0.1' };
}
const list = (actor: Actor) => listFindingViews(scratch.database, mine, actor.userId ?? 0);
const names = async (actor: Actor) => (await list(actor)).map(({ name }) => name);
const save = (actor: Actor, name: string, query: string, fields = {}) => {
  const view = { name, query, isShared: false, isDefault: false, ...fields };
  return saveFindingView(scratch.database, mine, view, actor);
};
const remove = (actor: Actor, id: number) => deleteFindingView(scratch.database, mine, id, actor);
const idOf = async (actor: Actor, name: string) =>
  (await list(actor)).find((view) => view.name === name)?.id ?? 0;
const ledger = () =>
  scratch.rows(
    'SELECT action, subject, before, after FROM audit_ledger WHERE workspace_id = $1 ORDER BY seq',
    [mine],
  );

beforeAll(async () => {
  scratch = await openMigratedDatabase();
  mine = (await createWorkspace(scratch.database, 'mine', 'Mine')).id;
  await addPerson(scratch.database, mine, 'owner');
  [ann, bob, admin] = [await person('member'), await person('member'), await person('admin')];
});
afterAll(() => scratch.close());

test('a view of one member is seen by nobody else, and is in no ledger', async () => {
  await save(ann, 'Worst', 'severity=critical');
  expect(await list(ann)).toMatchObject([
    { name: 'Worst', query: 'severity=critical', isShared: false, isEditable: true },
  ]);
  expect(await list(bob)).toEqual([]);
  await expect(remove(bob, await idOf(ann, 'Worst'))).rejects.toMatchObject({ code: 'not_found' });
  expect(await ledger()).toEqual([]);
});

test('a name that exists gets the new query, in any letter case', async () => {
  await save(ann, 'WORST', 'severity=high');
  expect(await list(ann)).toMatchObject([{ name: 'WORST', query: 'severity=high' }]);
});

test('a shared view is changed by its member and by admins, and recorded', async () => {
  await save(ann, 'Team', 'state=new', { isShared: true });
  expect(await list(bob)).toMatchObject([{ name: 'Team', isShared: true, isEditable: false }]);
  await expect(save(bob, 'team', 'q=x', { isShared: true })).rejects.toMatchObject({
    code: 'conflict',
  });
  const id = await idOf(bob, 'Team');
  await expect(remove(bob, id)).rejects.toMatchObject({ code: 'role_required' });
  await save(admin, 'Team', 'state=all', { isShared: true });
  await remove(ann, id);
  expect(await ledger()).toMatchObject([
    { action: 'finding_view.saved', subject: 'Team', after: { query: 'state=new' } },
    {
      action: 'finding_view.saved',
      subject: 'Team',
      before: { query: 'state=new' },
      after: { query: 'state=all' },
    },
    { action: 'finding_view.deleted', subject: 'Team', before: { query: 'state=all' } },
  ]);
});

test('each member chooses a default, which ends with its view', async () => {
  await save(ann, 'First', 'state=new', { isShared: true, isDefault: true });
  const id = await idOf(ann, 'First');
  const defaults = async (actor: Actor) =>
    (await list(actor)).filter(({ isDefault }) => isDefault).map(({ name }) => name);
  expect([await defaults(ann), await defaults(bob)]).toEqual([['First'], []]);
  await setDefaultFindingView(scratch.database, mine, id, true, bob);
  expect(await defaults(bob)).toEqual(['First']);
  await setDefaultFindingView(scratch.database, mine, id, false, bob);
  expect(await defaults(bob)).toEqual([]);
  await remove(admin, id);
  expect(await defaults(ann)).toEqual([]);
});

test('a view that is not the default ends no other as the default', async () => {
  await save(ann, 'Chosen', 'state=new', { isDefault: true });
  await save(ann, 'Other', 'state=all');
  const other = await idOf(ann, 'Other');
  await setDefaultFindingView(scratch.database, mine, other, false, ann);
  expect((await list(ann)).filter(({ isDefault }) => isDefault)).toMatchObject([
    { name: 'Chosen' },
  ]);
});

test('a shared view stays when its member leaves; own ones go', async () => {
  const guest = await person('member');
  await save(guest, 'Left behind', '', { isShared: true });
  await save(guest, 'Gone', '');
  await removeMember(scratch.database, mine, guest.userId ?? 0, admin);
  expect(await names(bob)).toEqual(['Left behind']);
  expect(await scratch.rows('SELECT name FROM finding_views WHERE name = $1', ['Gone'])).toEqual(
    [],
  );
});

test('there is a limit for each member, and for what is shared', async () => {
  for (let n = 0; n < FINDING_VIEWS_MAX; n += 1) await save(bob, `view ${n}`, '');
  await expect(save(bob, 'one more', '')).rejects.toMatchObject({ code: 'conflict' });
  await save(bob, 'view 1', 'state=all');
  await save(bob, 'shared', '', { isShared: true });
  expect(await names(bob)).toHaveLength(FINDING_VIEWS_MAX + 2);
});
