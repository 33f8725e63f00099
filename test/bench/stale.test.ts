/** Which results are old, and whether the machine is free for new ones. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { MEASURED_CODE, RESULT_NAMES, type ResultName } from '../../bench/pages.ts';
import { busyShare, ticksOf } from '../../bench/quiet.ts';
import { agesOf, ageTable } from '../../bench/stale.ts';

describe('how old a result is', () => {
  test('is the number of commits that changed what it measures, since its own', () => {
    const calls: (readonly string[])[] = [];
    const git = (...args: readonly string[]): string | null => {
      calls.push(args);
      return args[2] === 'gone..HEAD' ? null : args[2] === 'old..HEAD' ? '3' : '0';
    };
    const commits = new Map<ResultName, string | null>([
      ['preview', 'old'],
      ['match', 'new'],
      ['relay', 'gone'],
      ['pass', null],
    ]);
    const ages = agesOf(commits, git);
    expect(ages.map(({ behind }) => behind)).toEqual([3, 0, null, null]);
    expect(calls[0]).toEqual(['rev-list', '--count', 'old..HEAD', '--', ...MEASURED_CODE.preview]);
    expect(calls).toHaveLength(3);
    expect(ageTable(ages).split('\n').slice(2)).toEqual([
      '| preview | old | 3 commits older |',
      '| match | new | current |',
      '| relay | gone | unknown |',
      '| pass | unknown | unknown |',
    ]);
  });

  test.each(RESULT_NAMES)('%s measures code that is there', (name) => {
    const missing = MEASURED_CODE[name].filter(
      (path) => !existsSync(new URL(`../../${path}`, import.meta.url)),
    );
    expect(missing).toEqual([]);
  });
});

test('the benchmarks load, outside the test runner too', () => {
  const { VITEST: _, ...env } = process.env;
  const options = { cwd: new URL('../../', import.meta.url), env, encoding: 'utf8' } as const;
  const shown = execFileSync(
    process.execPath,
    ['--import', 'tsx', 'bench/main.ts', '--help'],
    options,
  );
  for (const name of ['ingest', 'capacity', 'match', 'stale'])
    expect(shown).toContain(`  ${name} `);
});

describe('a busy machine', () => {
  // user, nice, system, idle, iowait, irq, softirq, steal; then guest times, which user includes
  const stat = (...ticks: number[]): string => `cpu  ${ticks.join(' ')}\ncpu0 1 2 3\n`;

  test('is one whose cores others use, or the host gives to others', () => {
    const before = ticksOf(stat(100, 0, 100, 1000, 50, 0, 0, 0, 7, 7));
    const after = ticksOf(stat(110, 5, 105, 1060, 60, 2, 3, 5, 9, 9));
    expect(before).toHaveLength(8);
    expect(busyShare(before, after)).toBeCloseTo(0.3);
  });

  test('is not one that waits for its disk, or whose clock has not moved', () => {
    const before = ticksOf(stat(1, 1, 1, 1, 1, 1, 1, 1));
    expect(busyShare(before, ticksOf(stat(1, 1, 1, 51, 51, 1, 1, 1)))).toBe(0);
    expect(busyShare(before, before)).toBe(0);
  });
});
