/** `sluice key …` through a login: the keys of the login's workspace, as the user's role may. */
import { z } from 'zod';

import type { AgentKeyPrefix, KeyKind } from '../../model/people.ts';
import { paint } from '../../terminal/paint.ts';
import { plain } from '../../terminal/printable.ts';
import { answer, type OutputOptions } from '../answer.ts';
import { keyTable } from '../key-table.ts';
import type { ServerLogin } from './logins.ts';
import { parts } from './reader.ts';
import { call } from './server-call.ts';

const PATH = '/cli/v1/keys';

const created = z.object({ id: z.number(), key: z.string() });
const listed = z.object({
  keys: z.array(
    z.object({
      id: z.number(),
      kind: z.string(),
      name: z.string(),
      prefix: z.string(),
      rate_limit_per_minute: z.number(),
      last_used_at: z.string().nullable(),
      revoked_at: z.string().nullable(),
    }),
  ),
});

interface NewKeyOptions extends OutputOptions {
  readonly kind: KeyKind;
  readonly name: string;
  readonly limit: number;
  readonly prefix: AgentKeyPrefix;
}

/** The answer to a revocation, local or remote. */
export const revoked = (id: number): string =>
  `Key ${id} is revoked; servers refuse it within 5 s.`;

/** The answer to a changed limit, local or remote. */
export const limitChanged = (id: number, limit: number): string =>
  `Key ${id} may send ${limit} requests per minute; servers use the new limit within 5 s.`;

export async function createRemoteKey(login: ServerLogin, options: NewKeyOptions): Promise<void> {
  const { kind, name, limit, prefix } = options;
  const json = { kind, name, rate_limit_per_minute: limit, prefix };
  const body = await call(login, PATH, { method: 'POST', json });
  answer(options, body, () => {
    const { id, key } = parts(created, body);
    return [
      `Key ${id} of workspace "${login.workspace}", shown only once; copy it now:`,
      paint.green(plain(key)),
    ].join('\n');
  });
}

export async function listRemoteKeys(login: ServerLogin, options: OutputOptions): Promise<void> {
  const body = await call(login, PATH);
  const { keys } = parts(listed, body);
  answer(options, (body as { keys: unknown }).keys, () => keyTable(keys, false));
}

export async function setRemoteKeyLimit(
  login: ServerLogin,
  id: number,
  limit: number,
  options: OutputOptions,
): Promise<void> {
  const json = { rate_limit_per_minute: limit };
  const body = await call(login, `${PATH}/${id}/limit`, { method: 'POST', json });
  answer(options, body, () => limitChanged(id, limit));
}

export async function revokeRemoteKey(
  login: ServerLogin,
  id: number,
  options: OutputOptions,
): Promise<void> {
  const body = await call(login, `${PATH}/${id}`, { method: 'DELETE' });
  answer(options, body, () => revoked(id));
}
