/** Runs `sluice pass run`: evaluates all runs that are due, in threads as the server does. */
import { pinnedCorpus } from '../main/corpus-location.ts';
import { createPass } from '../main/create-pass.ts';
import { createObserver } from '../observe/events.ts';
import { prepareMatching } from '../pool/workers.ts';
import { answer, type OutputOptions } from './answer.ts';
import { withDatabase } from './with-database.ts';

export async function runPass(options: OutputOptions): Promise<void> {
  await withDatabase(async (open, config) => {
    const { events } = createObserver(config.logLevel);
    const matching = await prepareMatching(pinnedCorpus(), config.dataDir);
    const { pass, workers } = createPass(config, open, matching, events);
    try {
      const facts = await pass.runOnce();
      answer(
        options,
        facts,
        () =>
          `${facts.evaluated} runs evaluated, ${facts.findings} findings, ` +
          `${facts.undecided} to be retried, in ${facts.elapsedMs} ms`,
      );
    } finally {
      await pass.stop();
      await workers.close();
    }
  });
}
