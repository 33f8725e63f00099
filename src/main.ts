/**
 * `npm start`: runs the server until a signal stops it. Signals and exit codes are handled in
 * run-server.ts and nowhere else.
 */
import { explainLoadFailure } from './terminal/node-runtime.ts';

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

const { runServer } = await loadServer();
const { handleClosedOutput } = await import('./terminal/closed-output.ts');
handleClosedOutput();
await runServer();
