/**
 * Keeps the progress of an export in a file beside its output. It is replaced as a whole, after
 * everything that it describes is on disk; so an export that was killed at any moment continues from it.
 *
 *   unit       a day of arrival, or all runs; exported again from its start if the day was not over
 *   before     sizes of the files when the unit began
 *   now        sizes when the state was written; everything after that is cut off
 */
import { rm } from 'node:fs/promises';
import { z } from 'zod';
import { OperatorError } from '../../errors.ts';
import { readJsonFile, replaceJsonFile } from '../state-file.ts';

const VERSION = 1;
const sizes = z.record(z.string(), z.number().int().nonnegative());

const stateShape = z.object({
  version: z.literal(VERSION),
  /** the options that decide what is exported, as they were given */
  options: z.record(z.string(), z.string()),
  since_ms: z.number().nullable(),
  until_ms: z.number().nullable(),
  unit: z.object({
    /** a day, as `2026-11-20`, or `runs` */
    name: z.string(),
    /** where to continue; empty at the start */
    after: z.string(),
    is_live: z.boolean(),
    /** traces and logs were read from hot blocks; if they are packed now, the unit begins again */
    is_hot: z.boolean(),
    is_done: z.boolean(),
    before: sizes,
    now: sizes,
  }),
  unreadable: z.array(z.object({ unit: z.string(), block: z.string() })),
});

export type ExportState = z.infer<typeof stateShape>;
export type ExportUnit = ExportState['unit'];

export const newState = (
  options: ExportState['options'],
  sinceMs: number | null,
  untilMs: number | null,
): ExportState => ({
  version: VERSION,
  options,
  since_ms: sinceMs,
  until_ms: untilMs,
  unit: { name: '', after: '', is_live: false, is_hot: true, is_done: true, before: {}, now: {} },
  unreadable: [],
});

/** @throws {OperatorError} if it is of an export with other options, or damaged */
export async function readState(
  path: string,
  options: ExportState['options'],
): Promise<ExportState | null> {
  const found = await readJsonFile(path);
  if (found === undefined) return null;
  const state = stateShape.safeParse(found);
  if (!state.success) {
    throw new OperatorError(
      `${path} is not the state of an export of this version: export to another place`,
    );
  }
  const others = differences(state.data.options, options);
  if (others.length === 0) return state.data;
  throw new OperatorError(
    `${path} belongs to an export with other options (${others.join(', ')}): use the same options, or ` +
      'export to another place',
  );
}

function differences(
  one: ExportState['options'],
  other: ExportState['options'],
): readonly string[] {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].filter((name) => one[name] !== other[name]).map((name) => `--${name}`);
}

/** Replaces the state; it survives a crash when this resolves. */
export async function writeState(path: string, state: ExportState): Promise<void> {
  await replaceJsonFile(path, state);
}

export async function removeState(path: string): Promise<void> {
  await rm(path, { force: true });
}
