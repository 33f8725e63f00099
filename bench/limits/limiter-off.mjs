/**
 * Preloaded into a server under test (`node --import`): the function that counts is replaced by one
 * that admits everything. The product has no such switch, and a benchmark of what counting costs
 * needs a server that does not count.
 */
import { register } from 'node:module';

const HOOKS = `
  const FUNCTION = 'function createMinuteCounts(';
  const ADMIT_ALL = ${JSON.stringify(new URL('admit-all.js', import.meta.url).href)};
  export async function load(url, context, next) {
    const loaded = await next(url, context);
    const source = String(loaded.source ?? '');
    if (!url.includes('/dist/') || !source.includes(FUNCTION)) return loaded;
    const other = source.replace(FUNCTION, 'function unusedMinuteCounts(');
    const line = 'import { createMinuteCounts } from ' + JSON.stringify(ADMIT_ALL) + ';';
    return { ...loaded, source: line + other };
  }`;
register(`data:text/javascript,${encodeURIComponent(HOOKS)}`);
