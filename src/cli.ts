/**
 * The command line: `sluice <command>`. Answers go to standard output, faults to standard error;
 * exit code 0 or 1.
 */
import './stack-traces.ts';
import { createProgram } from './cli/program.ts';
import { handleClosedOutput, reportFailure } from './terminal/output.ts';

handleClosedOutput();
try {
  await createProgram().parseAsync();
} catch (error) {
  reportFailure(error);
  process.exitCode = 1;
}
