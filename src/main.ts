/**
 * `npm start`: runs the server until a signal stops it. Signals and exit codes are handled here and
 * nowhere else.
 */
import { runServer } from './main/run-server.ts';

await runServer();
