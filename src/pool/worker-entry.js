/**
 * How a worker thread reaches TypeScript: `--import tsx` does not reach worker threads on Node 20
 * (seen with tsx 4.23 on 20.20), so the loader is registered here, inside the thread, before the
 * first import.
 */
import { register } from 'tsx/esm/api';

register();
const worker = await import('./worker.ts');

export const checkCorpus = worker.checkCorpus;
export const evaluate = worker.evaluate;
