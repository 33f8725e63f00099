/** The names that the filters of a list suggest: the most frequent ones of its newest rows. */
import { RUN_NAME_ROWS } from '../model/runs.ts';

/** Rows whose names are suggested for filters. */
export const SUGGESTED_FROM = 2000;
export const SUGGESTIONS_MAX = 50;

/** SQL of the names, a list in each column, the most frequent first; $1 is the workspace. */
export const suggestedNames = (table: 'findings' | 'runs', order: string, more = ''): string => `
  WITH newest AS MATERIALIZED (
    SELECT ${RUN_NAME_ROWS.map(({ column }) => column).join(', ')} FROM ${table}
     WHERE workspace_id = $1 ORDER BY ${order} LIMIT ${SUGGESTED_FROM})
  SELECT ${RUN_NAME_ROWS.map(
    ({ column, known }) => `ARRAY(SELECT ${column} FROM newest WHERE ${column} IS NOT NULL
        GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT ${SUGGESTIONS_MAX}) AS ${known}`,
  )}${more}`;
