/** The calls behind `sluice alerts …`, through a login or on the local database. */
import { COMMAND_LINE } from '../../db/people/audit.ts';
import { findWorkspace } from '../../db/people/workspaces.ts';
import { createStore, sameForAll } from '../../db/store.ts';
import { alertsBody, testBody, testDestination } from '../../http/cli/alert-calls.ts';
import { alertSenderOf } from '../../main/alerts.ts';
import { pinnedCorpus } from '../../main/corpus-location.ts';
import { loadKeptCatalog } from '../../pool/kept-catalog.ts';
import { chooseServer, type PlaceOptions } from '../remote/place.ts';
import { asOperatorError } from '../remote/reader.ts';
import { call } from '../remote/server-call.ts';
import { readClock, withDatabase } from '../with-database.ts';

/** Answers are JSON, the same in both places. */
export interface AlertCaller {
  readonly list: () => Promise<unknown>;
  readonly test: (id: number) => Promise<unknown>;
  readonly sendAgain: (id: number, message: string) => Promise<unknown>;
}

const PATH = '/cli/v1/alerts';

/** Runs a command about alerts, wherever it works (place.ts). */
export async function withAlerts(
  options: PlaceOptions,
  work: (caller: AlertCaller) => Promise<void>,
): Promise<void> {
  const login = chooseServer(options);
  if (login !== null) {
    await work({
      list: () => call(login, PATH),
      test: (id) => call(login, `${PATH}/${id}/test`, { method: 'POST' }),
      sendAgain: (id, message) => {
        const json = { message_id: message };
        return call(login, `${PATH}/${id}/send-again`, { method: 'POST', json });
      },
    });
    return;
  }
  await withDatabase(async ({ database }, config) => {
    const { id: workspaceId } = await findWorkspace(database, options.workspace ?? null);
    const clock = await readClock(database);
    const canEmail = config.smtp !== null;
    const settings = { brand: config.brand, nowMs: clock.nowMs, canEmail };
    const { alerts } = createStore(sameForAll(database), settings);
    try {
      await work({
        list: () => alertsBody(alerts, workspaceId),
        test: async (id) => {
          const catalog = loadKeptCatalog(pinnedCorpus());
          const sender = alertSenderOf(config, catalog, clock);
          return testBody(await testDestination(alerts, sender, workspaceId, id));
        },
        sendAgain: async (id, message) => {
          await alerts.resend(workspaceId, id, message, COMMAND_LINE);
          return { message_id: message, queued: true };
        },
      });
    } catch (error) {
      throw asOperatorError(error);
    }
  });
}
