/**
 * Runs a command against the configured database, which is started for it if necessary.
 *
 * A signal ends the command after the database is closed; an embedded server started for the command
 * would otherwise keep running. The exit code is then 130, 143 or 129.
 */
import { type Config, readConfig } from '../config/config.ts';
import type { Queryable } from '../db/database.ts';
import { DatabaseClock } from '../db/database-clock.ts';
import { type OpenDatabase, openForCommand } from '../main/open-database.ts';
import { onStopSignal, SIGNAL_EXIT_CODES, type StopSignal } from '../main/stop-order.ts';
import { reportFailure } from '../terminal/output.ts';

export async function readClock(database: Queryable): Promise<DatabaseClock> {
  const clock = new DatabaseClock(database, { clockCompared: () => {} });
  await clock.read();
  return clock;
}

/** Opens, works, closes; also when the work fails or a signal comes. */
export async function withDatabase(
  work: (open: OpenDatabase, config: Config) => Promise<void>,
): Promise<void> {
  const config = readConfig(process.env);
  const interruption = new AbortController();
  const stopListening = onStopSignal((signal) => interruption.abort(signal));
  try {
    await workInterruptibly(work, config, interruption.signal);
  } catch (error) {
    if (!interruption.signal.aborted) throw error;
    reportFailure(error);
  } finally {
    stopListening();
  }
  const { aborted, reason } = interruption.signal;
  if (aborted) process.exit(SIGNAL_EXIT_CODES[reason as StopSignal]);
}

async function workInterruptibly(
  work: (open: OpenDatabase, config: Config) => Promise<void>,
  config: Config,
  interruption: AbortSignal,
): Promise<void> {
  // Errors after a signal are its effect; initdb, for one, receives a Ctrl-C as well.
  const unlessInterrupted = (error: unknown): void => {
    if (!interruption.aborted) throw error;
  };
  const open = await openForCommand(config).catch(unlessInterrupted);
  if (open === undefined) return;
  const interrupted = new Promise<void>((resolve) => {
    interruption.addEventListener('abort', () => resolve());
  });
  try {
    if (!interruption.aborted) {
      await Promise.race([work(open, config).catch(unlessInterrupted), interrupted]);
    }
  } finally {
    await open.close();
  }
}
