/** The names that the filters of a list suggest: the most frequent ones of its newest rows. */

/** Rows whose names are suggested for filters. */
export const SUGGESTED_FROM = 2000;
/** Names suggested for one filter. */
export const SUGGESTIONS_MAX = 50;

const COLUMNS = {
  agents: 'agent_name',
  services: 'service_name',
  users: 'user_id',
  sessions: 'session_id',
  models: 'model',
} as const;

/**
 * SQL of the names, a list in each column, the most frequent first; $1 is the workspace.
 *
 * @param order of the table, its newest rows first
 * @param more further columns, each with a comma before it
 */
export const suggestedNames = (table: 'findings' | 'runs', order: string, more = ''): string => `
  WITH newest AS MATERIALIZED (
    SELECT ${Object.values(COLUMNS).join(', ')} FROM ${table}
     WHERE workspace_id = $1 ORDER BY ${order} LIMIT ${SUGGESTED_FROM})
  SELECT ${Object.entries(COLUMNS).map(
    ([name, column]) => `ARRAY(SELECT ${column} FROM newest WHERE ${column} IS NOT NULL
        GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT ${SUGGESTIONS_MAX}) AS ${name}`,
  )}${more}`;
