/**
 * Passwords of tests are hashed at the least cost (quick-scrypt.cjs): by the tests' own processes after
 * setup-quick-scrypt.ts, and by servers and commands with `QUICK_SCRYPT`. Tests of the hashing itself
 * take the real one: `useRealScrypt`.
 */
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const PATH = fileURLToPath(new URL('./quick-scrypt.cjs', import.meta.url));

const load = (): { setQuickScrypt: (isQuick: boolean) => void } =>
  createRequire(import.meta.url)(PATH);

/**
 * Arguments of Node.js for the servers and commands of a run of Vitest. The benchmarks and chaos, which
 * start servers too, hash at full cost.
 */
export const QUICK_SCRYPT: readonly string[] =
  process.env.VITEST === undefined ? [] : ['--require', PATH];

/** Of this process. */
export const useQuickScrypt = (): void => load().setQuickScrypt(true);

/** Of this process, until `useQuickScrypt` or the next test file. */
export const useRealScrypt = (): void => load().setQuickScrypt(false);
