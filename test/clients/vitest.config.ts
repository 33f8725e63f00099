import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

const support = (name: string): string => join(import.meta.dirname, `../support/${name}.ts`);

export default defineConfig({
  test: {
    name: 'clients',
    root: join(import.meta.dirname, '../..'),
    include: ['test/clients/*.test.ts'],
    globalSetup: [
      join(import.meta.dirname, 'install.ts'),
      ...['global-build', 'global-database'].map(support),
    ],
    testTimeout: 600_000,
    hookTimeout: 300_000,
  },
});
