/**
 * Preloaded into a server under test (`node --import`): the module that counts is replaced by one
 * that admits everything. The product has no such switch, and a benchmark of what counting costs
 * needs a server that does not count.
 */
import { register } from 'node:module';

const HOOKS = `
  const ADMIT_ALL = ${JSON.stringify(new URL('admit-all.js', import.meta.url).href)};
  export function resolve(specifier, context, next) {
    return next(specifier.endsWith('/minute-counts.js') ? ADMIT_ALL : specifier, context);
  }`;
register(`data:text/javascript,${encodeURIComponent(HOOKS)}`);
