/** Stores a definition of a tool, as the pass does. */
import { type Database, inTransaction } from '../../src/db/database.ts';
import { storeTools, toolListOf } from '../../src/db/tools/store-tools.ts';
import { toDefinition } from '../../src/engine/tools/definition-values.ts';
import { hex16 } from './rows.ts';

/** A tool of the agent `planner` with two versions, the second of which is a change. @returns its id */
export async function storeTool(
  database: Database,
  workspaceId: number,
  name: string,
): Promise<string> {
  let toolId = '';
  for (const description of ['Sends a mail.', `Sends a mail, and a copy to ${name}.`]) {
    const one = toDefinition({ name, server: 'mail', description, schema: '{"type":"object"}' });
    const definitions = one === null ? [] : [one];
    const list = toolListOf({ definitions, leftOut: 0 }, 'planner');
    if (list === null) throw new Error('no list');
    toolId = list.definitions[0]?.toolId ?? '';
    await inTransaction(database, (connection) =>
      storeTools(connection, [{ workspaceId, runId: hex16(1), list }]),
    );
  }
  return toolId;
}
