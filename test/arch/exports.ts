/** Exports of `src`: none is forwarded, and no exported type has the name of another. */
import { describe, expect, test } from 'vitest';

import { readSources } from './source-file.ts';

describe('sources', () => {
  const sources = readSources();

  test('re-export nothing: imports name the file that owns the thing', () => {
    const forwarding = sources.filter(({ reExports }) => reExports.length > 0);
    expect(forwarding.map(({ path }) => path)).toEqual([]);
  });

  test('give every exported type a name of its own', () => {
    const owners = new Map<string, string[]>();
    for (const { path, exportedTypes } of sources) {
      for (const name of exportedTypes) owners.set(name, [...(owners.get(name) ?? []), path]);
    }
    const shared = [...owners].filter(([, paths]) => paths.length > 1);
    expect(shared).toEqual([]);
  });
});
