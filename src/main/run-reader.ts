/** The reads of runs, of their steps, of log records and metrics, and the settings that decide when a run is due. */
import type { Config } from '../config/config.ts';
import type { ReadChoice } from '../db/replica/read-choice.ts';
import type { RunTimes } from '../db/runs/run-times.ts';
import type { RunReader } from '../http/api/authorized.ts';
import { ExportSlots } from '../http/api/findings/finding-export.ts';
import { Turns } from '../http/limits/turns.ts';
import { createLogList } from '../reads/log-list.ts';
import { createMetricReader } from '../reads/metric-list.ts';
import type { ReportBlock } from '../reads/read-records.ts';
import { createRunExporter } from '../reads/run-export.ts';
import { createOutliner } from '../reads/run-outlines.ts';
import { RunSteps } from '../reads/run-steps.ts';
import { createTextSearch } from '../reads/text-search.ts';

export function runTimesOf(config: Config): RunTimes {
  return {
    settleMs: config.runSettleMs,
    settleMaxMs: config.runSettleMaxMs,
    timeoutMs: config.runTimeoutMs,
    openMaxMs: config.runOpenMaxMs,
  };
}

/** Its readers share their turns and slots. */
export function createRunReaders(
  config: Config,
  report?: ReportBlock,
): (choice: ReadChoice) => RunReader {
  const outlines = new Turns();
  const exports = { turns: new Turns(), slots: new ExportSlots(), report: report ?? (() => {}) };
  return (choice) => {
    const steps = new RunSteps(choice, exports.report);
    const parts = { turns: outlines, report: exports.report };
    return {
      ...createOutliner({ steps, turns: outlines }),
      ...createRunExporter(choice, steps, exports),
      search: createTextSearch(choice, parts),
      logs: createLogList(choice, parts),
      metrics: createMetricReader(choice, parts),
      times: runTimesOf(config),
    };
  };
}
