/** Exports a run from one database, without turns and limits of a server. */
import type { Database } from '../../src/db/database.ts';
import type { ReadChoice } from '../../src/db/replica/read-choice.ts';
import { toEnd } from '../../src/otlp/pieces.ts';
import { createRunExporter, type ExportedSignal } from '../../src/reads/run-export.ts';
import { RunSteps } from '../../src/reads/run-steps.ts';

/** Starts to export a run. */
export async function beginExport(
  database: Database,
  workspaceId: number,
  runId: string,
  signal: ExportedSignal,
): Promise<AsyncGenerator<Buffer>> {
  const read = async <T>(_reader: unknown, work: (db: Database) => Promise<T>) => work(database);
  const choice = { read, find: read } as unknown as ReadChoice;
  const turns = {
    takeInPieces: async <T>(_workspaceId: number, work: Iterator<void, T, void>) =>
      toEnd(work as Generator<void, T, void>),
  };
  const slots = { take: () => {}, release: () => {} };
  const exporter = createRunExporter(choice, new RunSteps(choice), {
    turns,
    slots,
    report: () => {},
  });
  return await exporter.exportOtlp(workspaceId, runId, signal);
}

/** The lines of a run; none for a run that the database does not have. */
export async function exportRun(
  database: Database,
  workspaceId: number,
  runId: string,
  signal: ExportedSignal,
): Promise<string[]> {
  let text = '';
  for await (const chunk of await beginExport(database, workspaceId, runId, signal)) {
    text += chunk.toString();
  }
  if (text !== '' && !text.endsWith('\n')) throw new Error('a line without its end');
  return text.split('\n').slice(0, -1);
}
