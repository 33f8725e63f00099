/**
 * The probes: alive, and able to work. Open to everybody, so they say which part fails and never
 * why in detail.
 */
import { JSON_TYPE, json } from './problem.ts';
import type { Route } from './router.ts';

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

/** `/health` and `/ready`. */
export function probeRoutes(probes: ReadonlyMap<string, Probe>): Route[] {
  const inquire = createInquiry(probes);
  return [
    {
      method: 'GET',
      path: '/health',
      handler: (exchange) => exchange.answer(json({ status: 'healthy' })),
    },
    {
      method: 'GET',
      path: '/ready',
      handler: async (exchange) => {
        const results = await inquire();
        const failing = results.filter(([, result]) => result !== 'ok').map(([name]) => name);
        const probeResults = Object.fromEntries(results);
        if (failing.length === 0) {
          exchange.answer(json({ status: 'ready', probes: probeResults }));
          return;
        }
        exchange.answer({
          status: 503,
          contentType: JSON_TYPE,
          headers: [['retry-after', '1']],
          body: JSON.stringify({ status: 'not_ready', failing, probes: probeResults }),
        });
      },
    },
  ];
}
