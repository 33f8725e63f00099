/** A changed tool is a message by itself, to the destinations that want it, once until the change is marked as seen. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { AlertDelivery } from '../../../src/alerts/delivery.ts';
import { type Alert, emailOf, webhookBody } from '../../../src/alerts/messages.ts';
import { createDestination, listDestinations } from '../../../src/db/alerts/destinations.ts';
import { COMMAND_LINE } from '../../../src/db/people/audit.ts';
import { setRedaction } from '../../../src/db/people/workspace-writes.ts';
import { createWorkspace } from '../../../src/db/people/workspaces.ts';
import { acknowledgeTool } from '../../../src/db/tools/tool-writes.ts';
import type { AlertFormat, Destination, SendResult } from '../../../src/model/alerts.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../../support/database.ts';
import { storeTool, storeVersion } from '../../support/stored-tools.ts';

const SOURCE = {
  brand: 'sluice',
  baseUrl: 'https://sluice.test',
  ruleTitle: () => undefined,
  toOcsf: () => ({}),
};
const DELIVERED: SendResult = {
  failure: null,
  status: 200,
  retryAfterSeconds: null,
  isGone: false,
};
const FILTER = { minSeverity: 'critical', categories: [], agentMatch: 'equals' } as const;

let scratch: MigratedDatabase;
let mine: number;
let sent: { readonly destination: Destination; readonly alert: Alert }[] = [];
beforeAll(async () => {
  scratch = await openMigratedDatabase();
  mine = (await createWorkspace(scratch.database, 'mine', 'Mine')).id;
});
afterAll(() => scratch.close());
beforeEach(async () => {
  await scratch.rows('TRUNCATE alert_destinations, alert_outbox, tool_definitions, tool_lists');
  sent = [];
});

async function addDestination(
  name: string,
  fields: { toolChanges?: boolean; agent?: string; format?: Exclude<AlertFormat, 'email'> } = {},
): Promise<void> {
  const { toolChanges = true, agent = null, format = 'json' } = fields;
  const target = { format, url: `https://${name}.test/hook` };
  const settings = { name, target, filter: { ...FILTER, agent }, showsUser: false, toolChanges };
  await createDestination(scratch.database, mine, settings, COMMAND_LINE);
}

async function deliver(): Promise<void> {
  const none = () => {};
  const events = {
    alertSent: none,
    alertNotMade: none,
    alertsCounted: none,
    alertsFailed: none,
    alertsWork: none,
  };
  const send = async (destination: Destination, _id: string, alert: Alert) => {
    sent.push({ destination, alert });
    return DELIVERED;
  };
  const sendTest = () => Promise.reject(new Error('no test is sent'));
  const sender = { canEmail: false, faultOfUrl: () => null, send, sendTest };
  const parts = { database: scratch.database, sender, nowMs: () => 0, events };
  await scratch.rows('UPDATE alert_destinations SET next_at = now()');
  const delivery = new AlertDelivery(parts);
  await delivery.look();
  await delivery.idle();
}

test('only to destinations that want changes, of agents that fit, and never as OCSF', async () => {
  await addDestination('on');
  await addDestination('fits', { agent: 'Planner' });
  await addDestination('off', { toolChanges: false });
  await addDestination('other', { agent: 'other' });
  await addDestination('ocsf', { format: 'ocsf' });
  await storeTool(scratch.database, mine, 'send');
  await deliver();
  expect(sent.map(({ destination }) => destination.name).sort()).toEqual(['fits', 'on']);
  expect(await scratch.rows('SELECT FROM alert_outbox')).toEqual([]);
  const wanting = await listDestinations(scratch.database, mine);
  expect(wanting.find(({ name }) => name === 'on')?.toolChanges).toBe(true);
});

test('each change is a message by itself, and one until it is marked as seen', async () => {
  await addDestination('on');
  const toolId = await storeTool(scratch.database, mine, 'send');
  await storeTool(scratch.database, mine, 'read');
  await storeVersion(scratch.database, mine, 'send', 'a third');
  await deliver();
  const tools = () => sent.map(({ alert }) => (alert.kind === 'tool_change' ? alert.tool : null));
  expect(tools().map((tool) => [tool?.name, tool?.version])).toEqual(
    expect.arrayContaining([
      ['send', 2],
      ['read', 2],
    ]),
  );
  expect(sent).toHaveLength(2);
  await acknowledgeTool(scratch.database, mine, toolId, 3, COMMAND_LINE);
  await storeVersion(scratch.database, mine, 'send', 'a fourth');
  await deliver();
  expect(tools().at(-1)).toMatchObject({ name: 'send', version: 4, description: true });
  expect(tools().at(-1)?.schema).toBe(false);
  expect(sent).toHaveLength(3);
});

test('a change that was marked as seen before is not sent', async () => {
  await addDestination('on');
  const toolId = await storeTool(scratch.database, mine, 'send');
  await acknowledgeTool(scratch.database, mine, toolId, 2, COMMAND_LINE);
  await deliver();
  expect(sent).toEqual([]);
  expect(await scratch.rows('SELECT FROM alert_outbox')).toEqual([]);
});

test('the message names the tool and has no text of it; a workspace that redacts has no name either', async () => {
  await addDestination('on');
  const read = () =>
    sent.map(({ alert, destination }) => {
      const { subject, text } = emailOf(alert, destination, SOURCE);
      const slack = { ...destination, target: { format: 'slack', url: 'https://a.test' } } as const;
      return [
        webhookBody(alert, destination, SOURCE),
        webhookBody(alert, slack, SOURCE),
        subject,
        text,
      ].join('\n');
    });
  const toolId = await storeTool(scratch.database, mine, 'send\u202Email');
  await deliver();
  const [text = ''] = read();
  expect(text).toContain('"type":"tool.changed"');
  expect(text).toContain('"changed":["description"]');
  expect(text).toContain(`https://sluice.test/app/tools/${toolId}`);
  expect(text).toContain('Tool changed: send');
  expect(text).not.toMatch(/Sends a mail|\u202E/);
  sent = [];
  await setRedaction(scratch.database, mine, true, COMMAND_LINE);
  await storeTool(scratch.database, mine, 'secret');
  await deliver();
  const [redacted = ''] = read();
  expect(redacted).toContain('"name":null');
  expect(redacted).not.toContain('secret');
  await setRedaction(scratch.database, mine, false, COMMAND_LINE);
});
