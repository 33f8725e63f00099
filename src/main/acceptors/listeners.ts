/** The listeners of one thread, opened, drained and closed together. */
import {
  createThreadMemory,
  type Listener,
  type ListenerSettings,
  openListener,
  type ThreadMemory,
} from '../../http/transport/server.ts';
import type { Events } from '../../observe/events.ts';
import type { StopOrder } from '../stop-order.ts';

/** Above the time after which listeners close their remaining connections. */
const REQUESTS_STOP_LIMIT_MS = 30_000;

export interface OpenListeners {
  /** in the order of the settings */
  readonly ports: readonly number[];
  /** Answers from now on close their connections. */
  readonly retire: () => void;
  /** Accepts no new connections either. */
  readonly drain: () => void;
  /** Closes every connection at once, also with requests under way. */
  readonly cut: () => void;
}

/**
 * Opens listeners, and registers their stop: drain, then wait for requests under way.
 *
 * @param memory of the thread, when it opens listeners more than once
 * @throws {OperatorError} when a port is taken
 */
export async function openListeners(
  all: readonly ListenerSettings[],
  events: Pick<Events, 'requestFailed' | 'requestUnavailable'>,
  stops: Pick<StopOrder, 'add'>,
  memory: ThreadMemory = createThreadMemory(),
): Promise<OpenListeners> {
  const listeners: Listener[] = [];
  const closeAll = async (): Promise<void> => {
    await Promise.all(listeners.map((listener) => listener.close()));
  };
  stops.add('requests under way', closeAll, REQUESTS_STOP_LIMIT_MS);
  for (const settings of all) listeners.push(await openListener(settings, events, memory));
  const retire = (): void => {
    for (const listener of listeners) listener.retire();
  };
  const drain = (): void => {
    for (const listener of listeners) listener.drain();
  };
  stops.add('new connections', drain);
  const cut = (): void => {
    for (const listener of listeners) listener.cut();
  };
  return { ports: listeners.map(({ port }) => port), retire, drain, cut };
}
