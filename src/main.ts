/**
 * `npm start`: runs the server until a signal stops it. Signals and exit codes are handled in
 * run-server.ts and nowhere else.
 */
import './stack-traces.ts';
import { explainLoadFailure } from './terminal/node-runtime.ts';

const USAGE = `Usage: npm start
       node --v8-pool-size=0 dist/main.js

Starts the server. It takes its settings from the environment (docs/configuration.md) and no arguments.

  -h, --help  shows this, and starts nothing

Other commands: npx sluice --help
`;
const WRONG_USAGE = 2;

/** Ends the process if there is any argument: nobody who gave one wanted just a server. */
function refuseArguments(given: readonly string[]): void {
  const [unknown] = given.filter((argument) => argument !== '--help' && argument !== '-h');
  if (unknown !== undefined) {
    process.stderr.write(`sluice: unknown argument ${JSON.stringify(unknown)}\n\n${USAGE}`);
    process.exit(WRONG_USAGE);
  }
  if (given.length === 0) return;
  process.stdout.write(USAGE);
  process.exit(0);
}

async function loadServer() {
  try {
    return await import('./main/run-server.ts');
  } catch (error) {
    const explanation = explainLoadFailure(error);
    if (explanation === null) throw error;
    process.stderr.write(`sluice: ${explanation}\n`);
    process.exit(1);
  }
}

refuseArguments(process.argv.slice(2));
const { runServer } = await loadServer();
const { handleClosedOutput } = await import('./terminal/output.ts');
handleClosedOutput();
await runServer();
