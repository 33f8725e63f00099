/** Several listeners, opened, drained and closed together. */
import {
  type Listener,
  type ListenerMemory,
  type ListenerSettings,
  openListener,
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
}

/**
 * Opens listeners, and registers their stop: drain, then wait for requests under way.
 *
 * @param memory shared by all listeners of the process
 * @throws {OperatorError} when a port is taken
 */
export async function openListeners(
  all: readonly ListenerSettings[],
  events: Pick<Events, 'requestFailed' | 'requestUnavailable'>,
  stops: Pick<StopOrder, 'add'>,
  memory: ListenerMemory,
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
  return { ports: listeners.map(({ port }) => port), retire };
}
