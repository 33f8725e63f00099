/**
 * Finds the handler of a path: exact paths first, then patterns with one `{name}` per segment. Knows
 * no transport.
 */
import type { SluiceError } from '../../errors.ts';
import type { Answer, Exchange, HeaderList } from './exchange.ts';

export type Parameters = Readonly<Record<string, string>>;
export type Handler = (exchange: Exchange, parameters: Parameters) => void | Promise<void>;

/** How a route answers the errors that are found before its handler runs. */
export type Refusal = (error: SluiceError, headers: HeaderList, exchange: Exchange) => Answer;

export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE' | 'OPTIONS';
  /** as `/platform/v1/atr/rules/{ruleId}` */
  readonly path: string;
  readonly handler: Handler;
  /** problem+json when left out */
  readonly refusal?: Refusal;
}

export type Match =
  | {
      readonly kind: 'found';
      readonly handler: Handler;
      /** the route's path, with `{name}` for parameters */
      readonly route: string;
      readonly parameters: Parameters;
      readonly refusal: Refusal | null;
    }
  | { readonly kind: 'wrong_method'; readonly allow: string; readonly refusal: Refusal | null }
  | { readonly kind: 'unknown' };

interface Target {
  readonly route: string;
  readonly segments: readonly string[];
  readonly handlers: Map<string, Handler>;
  readonly refusal: Refusal | null;
}

const UNKNOWN: Match = { kind: 'unknown' };

export function parametersOf(
  pattern: readonly string[],
  path: readonly string[],
): Parameters | null {
  if (pattern.length !== path.length) return null;
  const parameters: Record<string, string> = {};
  for (const [index, expected] of pattern.entries()) {
    const actual = path[index] ?? '';
    if (expected.startsWith('{')) {
      if (actual === '') return null;
      try {
        parameters[expected.slice(1, -1)] = decodeURIComponent(actual);
      } catch {
        return null; // invalid percent-encoding: no resource has such a name
      }
    } else if (expected !== actual) return null;
  }
  return parameters;
}

/** Removes one slash at the end: with or without it, a path names the same resource. */
const withoutSlash = (path: string): string =>
  path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;

export function createRouter(routes: readonly Route[]): (method: string, path: string) => Match {
  const exact = new Map<string, Target>();
  const patterns: Target[] = [];
  for (const { method, path, handler, refusal = null } of routes) {
    let target = exact.get(path);
    if (target === undefined) {
      target = { route: path, segments: path.split('/'), handlers: new Map(), refusal };
      exact.set(path, target);
      if (path.includes('{')) patterns.push(target);
    }
    target.handlers.set(method, handler);
    // Probes may use HEAD; the exchange leaves the body out.
    if (method === 'GET') target.handlers.set('HEAD', handler);
  }
  const resolve = (target: Target, method: string, parameters: Parameters): Match => {
    const handler = target.handlers.get(method);
    const { refusal } = target;
    const { route } = target;
    if (handler !== undefined) return { kind: 'found', handler, route, parameters, refusal };
    const allow = [...target.handlers.keys()].sort().join(', ');
    return { kind: 'wrong_method', allow, refusal };
  };
  return (method, given) => {
    const path = withoutSlash(given);
    const target = path.includes('{') ? undefined : exact.get(path);
    if (target !== undefined) return resolve(target, method, {});
    const segments = path.split('/');
    for (const pattern of patterns) {
      const parameters = parametersOf(pattern.segments, segments);
      if (parameters !== null) return resolve(pattern, method, parameters);
    }
    return UNKNOWN;
  };
}
