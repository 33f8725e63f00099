/** Stores a definition of a tool, as the pass does. */
import { type Database, inTransaction } from '../../src/db/database.ts';
import { storeTools, toolListOf } from '../../src/db/tools/store-tools.ts';
import { toDefinition } from '../../src/engine/tools/definition-values.ts';
import { hex16 } from './rows.ts';

/** A version of a tool of the agent `planner`. @returns the tool's id */
export async function storeVersion(
  database: Database,
  workspaceId: number,
  name: string,
  description: string,
): Promise<string> {
  const one = toDefinition({ name, server: 'mail', description, schema: '{"type":"object"}' });
  const definitions = one === null ? [] : [one];
  const list = toolListOf({ definitions, leftOut: 0 }, 'planner');
  if (list === null) throw new Error('no list');
  await inTransaction(database, (connection) =>
    storeTools(connection, [{ workspaceId, runId: hex16(1), list }]),
  );
  return list.definitions[0]?.toolId ?? '';
}

/** The same with two versions, the second of which is a change. */
export async function storeTool(
  database: Database,
  workspaceId: number,
  name: string,
): Promise<string> {
  await storeVersion(database, workspaceId, name, 'Sends a mail.');
  return await storeVersion(database, workspaceId, name, `Sends a mail, and a copy to ${name}.`);
}
