/**
 * Runs a command against the database of the settings: a running server's, or one started for it.
 */
import { type Config, readConfig } from '../config.ts';
import { type OpenDatabase, openForCommand } from '../main/open-database.ts';

/** Opens, works, closes; also when the work fails. */
export async function withDatabase(
  work: (open: OpenDatabase, config: Config) => Promise<void>,
): Promise<void> {
  const config = readConfig(process.env);
  const open = await openForCommand(config);
  try {
    await work(open, config);
  } finally {
    await open.close();
  }
}
