/**
 * The probes: alive, and able to work. Open to everybody, so they say which part fails and never
 * why in detail.
 *
 * A part whose loss leaves the server able to work is an aid, no probe: while it fails, `/ready`
 * stays 200 and names it in `degraded`. Taking every server out of service because the Redis they
 * share is away would be the outage that counting without it avoids.
 */
import { JSON_TYPE, json } from '../../transport/problem.ts';
import type { Route } from '../../transport/router.ts';
import type { BodyOf } from '../openapi/component.ts';
import type { health, notReady, ready } from './probe-schema.ts';

/** A probe resolves when its part works. */
export type Probe = () => Promise<void>;

/** A probe that takes longer has failed. */
const PROBE_TIMEOUT_MS = 3000;
/** The probes are open to everybody: however often they are asked, the parts are not asked more. */
const REMEMBERED_MS = 1000;

async function ask(probe: Probe): Promise<'ok' | 'failing' | 'timeout'> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<'timeout'>((resolve) => {
    timer = setTimeout(() => resolve('timeout'), PROBE_TIMEOUT_MS);
  });
  try {
    return await Promise.race([probe().then(() => 'ok' as const), timeout]);
  } catch {
    // The part itself reports its faults; a probe is asked every few seconds and only tells that.
    return 'failing';
  } finally {
    clearTimeout(timer);
  }
}

type Results = readonly (readonly [name: string, result: 'ok' | 'failing' | 'timeout'])[];

/** Asks all probes at once; answers within a moment share one asking. */
function createInquiry(probes: ReadonlyMap<string, Probe>): () => Promise<Results> {
  let last: { readonly startedAt: number; readonly results: Promise<Results> } | null = null;
  return () => {
    const now = performance.now();
    if (last === null || now - last.startedAt > REMEMBERED_MS) {
      const results = Promise.all(
        [...probes].map(async ([name, probe]) => [name, await ask(probe)] as const),
      );
      last = { startedAt: now, results };
    }
    return last.results;
  };
}

const namesOf = (results: Results): string[] =>
  results.filter(([, result]) => result !== 'ok').map(([name]) => name);

/**
 * `/health` and `/ready`.
 *
 * @param aids parts whose loss only degrades, by name
 */
export function probeRoutes(
  probes: ReadonlyMap<string, Probe>,
  aids: ReadonlyMap<string, Probe> = new Map(),
): Route[] {
  const inquire = createInquiry(probes);
  const inquireAids = createInquiry(aids);
  return [
    {
      method: 'GET',
      path: '/health',
      handler: (exchange) => {
        const body: BodyOf<typeof health> = { status: 'healthy' };
        exchange.answer(json(body));
      },
    },
    {
      method: 'GET',
      path: '/ready',
      handler: async (exchange) => {
        const [results, aidResults] = await Promise.all([inquire(), inquireAids()]);
        const failing = namesOf(results);
        const missing = namesOf(aidResults);
        const degraded = missing.length === 0 ? {} : { degraded: missing };
        const probeResults = Object.fromEntries(results);
        if (failing.length === 0) {
          const body: BodyOf<typeof ready> = {
            status: 'ready',
            probes: probeResults,
            ...degraded,
          };
          exchange.answer(json(body));
          return;
        }
        const body: BodyOf<typeof notReady> = {
          status: 'not_ready',
          failing,
          probes: probeResults,
          ...degraded,
        };
        exchange.answer({
          status: 503,
          contentType: JSON_TYPE,
          headers: [['retry-after', '1']],
          body: JSON.stringify(body),
        });
      },
    },
  ];
}
