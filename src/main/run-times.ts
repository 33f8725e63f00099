/** The settings that decide when a run is due. */
import type { Config } from '../config/config.ts';
import type { RunTimes } from '../db/runs/run-times.ts';

export function runTimesOf(config: Config): RunTimes {
  return {
    settleMs: config.runSettleMs,
    settleMaxMs: config.runSettleMaxMs,
    timeoutMs: config.runTimeoutMs,
    openMaxMs: config.runOpenMaxMs,
  };
}
