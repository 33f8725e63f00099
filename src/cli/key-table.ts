/** API keys as a table, read from the database here or sent by a server elsewhere. */
import type { toKeyRecord } from '../model/people.ts';
import { shownTime } from './answer.ts';
import { plain } from './remote/server-call.ts';
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
  return renderTable(
    [
      { title: 'ID', align: 'right' },
      ...(withWorkspace ? [{ title: 'WORKSPACE' }] : []),
      { title: 'KIND' },
      { title: 'NAME', shrinks: true },
      { title: 'PREFIX' },
      { title: 'REQUESTS/MIN', align: 'right' },
      { title: 'LAST USED' },
      { title: 'STATE' },
    ],
    keys.map((key) => [
      String(key.id),
      ...(withWorkspace ? [key.workspace ?? ''] : []),
      plain(key.kind),
      plain(key.name),
      `${plain(key.prefix)}…`,
      String(key.rate_limit_per_minute),
      shown(key.last_used_at),
      key.revoked_at === null ? 'valid' : `revoked ${shown(key.revoked_at)}`,
    ]),
  );
}
