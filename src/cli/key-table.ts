/** API keys as a table, read from the local database or sent by a remote server. */

import type { toKeyRecord } from '../model/people.ts';
import { plain } from '../terminal/printable.ts';
import { shownTime } from './answer.ts';
import { renderTable } from './table.ts';

type KeyRecord = ReturnType<typeof toKeyRecord>;
/** Times are text in an answer of a server. */
interface ListedRecord extends Pick<KeyRecord, 'id' | 'name' | 'prefix' | 'rate_limit_per_minute'> {
  readonly kind: string;
  /** undefined where all keys are of one workspace */
  readonly workspace?: string;
  readonly last_used_at: Date | string | null;
  readonly revoked_at: Date | string | null;
}

const shown = (time: Date | string | null): string =>
  shownTime(typeof time === 'string' ? new Date(time) : time);

export function keyTable(keys: readonly ListedRecord[], withWorkspace: boolean): string {
  const workspaceColumn = { title: 'WORKSPACE', cell: (key: ListedRecord) => key.workspace ?? '' };
  return renderTable(keys, [
    { title: 'ID', align: 'right', cell: (key) => String(key.id) },
    ...(withWorkspace ? [workspaceColumn] : []),
    { title: 'KIND', cell: (key) => plain(key.kind) },
    { title: 'NAME', shrinks: true, cell: (key) => plain(key.name) },
    { title: 'PREFIX', cell: (key) => `${plain(key.prefix)}…` },
    { title: 'REQUESTS/MIN', align: 'right', cell: (key) => String(key.rate_limit_per_minute) },
    { title: 'LAST USED', cell: (key) => shown(key.last_used_at) },
    {
      title: 'STATE',
      cell: ({ revoked_at: at }) => (at === null ? 'valid' : `revoked ${shown(at)}`),
    },
  ]);
}
