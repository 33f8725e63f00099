/**
 * A process that starts the embedded database of the folder it is given, says so in one line of
 * JSON, and stops it once its standard input ends. Run by test/db/embedded/connect.test.ts, which builds
 * it (embedded-lab.ts); handles no signals, so that a test can kill it.
 */
import { startEmbedded } from '../../src/db/embedded/connect.ts';
import { OperatorError } from '../../src/errors.ts';

const tell = (line: object): boolean => process.stdout.write(`${JSON.stringify(line)}\n`);
const silent = { info: () => undefined, warn: () => undefined };

try {
  const ownerWaitMs = Number(process.argv[3] ?? 30_000);
  const database = await startEmbedded({
    dataDir: process.argv[2] ?? '',
    log: silent,
    ownerWaitMs,
  });
  tell(database);
  process.stdin.on('end', () => void database.stop()).resume();
} catch (error) {
  tell({ failed: String(error), operator: error instanceof OperatorError });
}
