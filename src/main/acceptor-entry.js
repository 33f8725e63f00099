/**
 * How a thread that takes requests reaches TypeScript: `--import tsx` does not reach worker threads
 * on Node 20, so the loader is registered here, inside the thread, before the first import.
 */
import { register } from 'tsx/esm/api';

register();
await import('./acceptor-thread.ts');
