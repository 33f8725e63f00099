/** Runs before each test file, also before one that follows `useRealScrypt` in the same worker. */
import { useQuickScrypt } from './quick-scrypt.ts';

useQuickScrypt();
