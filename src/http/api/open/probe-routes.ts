/**
 * `/health` and `/ready`. Open to everybody, so they name the part that fails and give no details.
 *
 * A part that the server can work without is optional: while it fails, `/ready` stays 200 and names it
 * in `degraded`. Taking every server out of service because their Redis is away would cause the
 * outage that counting without Redis avoids; and without a synchronous standby nothing is stored, but
 * everything can be read.
 */
import { z } from 'zod';
import type { Events } from '../../../observe/events.ts';
import { JSON_TYPE, json } from '../../transport/answers.ts';
import type { Route } from '../../transport/router.ts';
import { type BodyOf, component } from '../openapi/component.ts';
import { found, type Operation } from '../openapi/operation.ts';

const health = component(
  'Health',
  z.object({ status: z.literal('healthy') }).describe('The process is up.'),
);

const probes = z
  .record(z.string(), z.enum(['ok', 'failing', 'timeout']))
  .describe('Probe to result; `db` is one of them.');
const degraded = z
  .array(z.string())
  .optional()
  .describe(
    'Optional parts that do not work: `redis`, `standby`, `replica`; absent when there are none.',
  );

const ready = component(
  'Ready',
  z
    .object({ status: z.literal('ready'), probes, degraded })
    .describe('Every probe passes; each result is `ok`.'),
);

const notReady = component(
  'NotReady',
  z
    .object({
      status: z.literal('not_ready'),
      failing: z.array(z.string()).min(1).describe('Names of the failing probes.'),
      probes,
      degraded,
    })
    .describe('A probe fails.'),
);

export type Probe = () => Promise<void>;

const PROBE_TIMEOUT_MS = 3000;
/** Results are reused for this long, since anybody can request them at any rate. */
const CACHED_MS = 1000;

async function run(probe: Probe): Promise<'ok' | 'failing' | 'timeout'> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<'timeout'>((resolve) => {
    timer = setTimeout(() => resolve('timeout'), PROBE_TIMEOUT_MS);
  });
  try {
    return await Promise.race([probe().then(() => 'ok' as const), timeout]);
  } catch {
    // The part reports its errors itself.
    return 'failing';
  } finally {
    clearTimeout(timer);
  }
}

type Results = readonly (readonly [name: string, result: 'ok' | 'failing' | 'timeout'])[];

/** Runs all probes at once, at most once in `CACHED_MS`. */
function createProbing(probes: ReadonlyMap<string, Probe>): () => Promise<Results> {
  let last: { readonly startedAt: number; readonly results: Promise<Results> } | null = null;
  return () => {
    const now = performance.now();
    if (last === null || now - last.startedAt > CACHED_MS) {
      const results = Promise.all(
        [...probes].map(async ([name, probe]) => [name, await run(probe)] as const),
      );
      last = { startedAt: now, results };
    }
    return last.results;
  };
}

const namesOf = (results: Results): string[] =>
  results.filter(([, result]) => result !== 'ok').map(([name]) => name);

export interface ProbeDependencies {
  readonly probes: ReadonlyMap<string, Probe>;
  /** of parts that the server can do without */
  readonly optionalProbes: ReadonlyMap<string, Probe>;
  readonly events: Pick<Events, 'ready' | 'notReady'>;
}

export function probeRoutes({ probes, optionalProbes, events }: ProbeDependencies): Route[] {
  const check = createProbing(probes);
  const checkOptional = createProbing(optionalProbes);
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
        const [results, optionalResults] = await Promise.all([check(), checkOptional()]);
        const failing = namesOf(results);
        const missing = namesOf(optionalResults);
        const degraded = missing.length === 0 ? {} : { degraded: missing };
        const probeResults = Object.fromEntries(results);
        if (failing.length === 0) {
          const body: BodyOf<typeof ready> = {
            status: 'ready',
            probes: probeResults,
            ...degraded,
          };
          events.ready();
          exchange.answer(json(body));
          return;
        }
        const body: BodyOf<typeof notReady> = {
          status: 'not_ready',
          failing,
          probes: probeResults,
          ...degraded,
        };
        events.notReady(failing);
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

const open = { method: 'GET', auth: 'none', hosts: ['base'] } as const;

const PASSING = {
  db: 'ok',
  migrations: 'ok',
  corpus: 'ok',
  clock: 'ok',
  pass: 'ok',
  workspace: 'ok',
  accepting: 'ok',
};

export const PROBE_OPERATIONS: readonly Operation[] = [
  {
    ...open,
    hosts: ['base', 'observe'],
    path: '/health',
    operationId: 'getHealth',
    tag: 'Setup and probes',
    summary: 'Health check',
    description: 'Answers 200 as long as the process runs, even if the database is down.',
    responses: found('The process is up.', health, [
      { name: 'healthy', summary: 'The process is up.', value: { status: 'healthy' } },
    ]),
  },
  {
    ...open,
    hosts: ['base', 'observe'],
    path: '/ready',
    operationId: 'getReadiness',
    tag: 'Setup and probes',
    summary: 'Readiness check',
    description: 'Runs every probe, at most once a second.',
    responses: {
      ...found('Every probe passes.', ready, [
        {
          name: 'ready',
          summary: 'Every probe passes.',
          value: { status: 'ready', probes: PASSING },
        },
      ]),
      503: {
        description: 'At least one probe fails; `failing` names them.',
        headers: [
          {
            name: 'Retry-After',
            description: 'Seconds to wait before the next attempt.',
            schema: z.int().min(1),
          },
        ],
        contents: [
          {
            mediaType: JSON_TYPE,
            schema: notReady,
            examples: [
              {
                name: 'database_away',
                summary: 'The database does not answer.',
                value: {
                  status: 'not_ready',
                  failing: ['db'],
                  probes: { ...PASSING, db: 'timeout' },
                },
              },
            ],
          },
        ],
      },
    },
  },
];
