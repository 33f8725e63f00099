/**
 * How a command that failed says so: one clear line for mistakes, a stack only for faults of ours.
 */
import { CorpusError } from '../engine/corpus/corpus.ts';
import { OperatorError } from '../errors.ts';
import { paint } from './paint.ts';
import { note } from './printable.ts';

export function reportFailure(error: unknown): void {
  const isExpected = error instanceof OperatorError || error instanceof CorpusError;
  const text = isExpected
    ? error.message
    : error instanceof Error
      ? (error.stack ?? error.message)
      : String(error);
  note(`${paint.red('sluice:')} ${text}`);
}
