/**
 * Which fault happens when: decided by the seed alone, before anything is started, so that a seed that
 * found a defect gives the same faults in the same order again.
 */
import { seeded } from '../../bench/bodies.ts';

/** One kind of fault, and what a reader of the results needs to know of it. */
export const FAULTS = {
  'kill-server': 'a server is killed (SIGKILL) and started again',
  'stop-server': 'a server is stopped (SIGTERM) under load and started again',
  'pause-server': 'a server is paused (SIGSTOP) and continues',
  'clock-ahead':
    'a server is started with a clock that is 40 days ahead, and again with the right one',
  'clock-behind': 'the same with a clock that is 40 days behind',
  'kill-postgres': 'PostgreSQL is killed with all of its processes (SIGKILL) and recovers',
  'hang-postgres': 'PostgreSQL hangs with all of its processes (SIGSTOP)',
  'kill-backend': 'one backend is killed (SIGKILL): PostgreSQL ends all others and recovers',
  'end-backends': 'all backends of the servers are ended (pg_terminate_backend)',
  'cancel-statements': 'all statements of the servers are cancelled (pg_cancel_backend)',
  'kill-standby':
    'the only synchronous standby is killed: no COMMIT can be confirmed until it is back',
  promote: 'the primary is killed, the standby promoted, and the old primary replaced by a copy',
  'disk-full':
    'the disk of the write-ahead log is full: PostgreSQL ends, and starts when there is space',
  'cut-database': 'connections of a server to PostgreSQL are cut, new ones refused',
  'drop-database': 'nothing gets through between a server and PostgreSQL, and then connections end',
  'delay-database':
    'everything between a server and PostgreSQL takes longer by up to half a second',
  'cut-clients': 'exporters lose the connection before the answer arrives, and send again',
  'drop-hot-day':
    'days pass: what arrived is packed and its hot day dropped, with another fault while that happens',
  'kill-redis': 'Redis is killed and started again, empty',
  'hang-redis': 'Redis hangs (SIGSTOP)',
} as const;

export type Fault = keyof typeof FAULTS;

export interface Round {
  readonly fault: Fault;
  /** place of the server that is meant, where one is */
  readonly server: number;
  /** how many request bodies are acknowledged in this round before the fault */
  readonly afterBodies: number;
  /** how long the fault lasts, in milliseconds */
  readonly lastsMs: number;
}

const BODIES_BEFORE = { least: 3, most: 30 } as const;
/** Most faults are short; every fourth lasts longer than an exporter waits for its answer. */
const SHORT_MS = { least: 100, most: 2_000 } as const;
const LONG_MS = { least: 10_500, most: 13_000 } as const;
const LONG_ONE_IN = 4;
/** Faults that last as long as they take: their length would only make a run longer. */
const INSTANT: readonly Fault[] = [
  'kill-postgres',
  'kill-backend',
  'end-backends',
  'cancel-statements',
  'promote',
  'clock-ahead',
  'clock-behind',
  'stop-server',
  'drop-hot-day',
];

const between = (random: () => number, { least, most }: { least: number; most: number }): number =>
  least + Math.floor(random() * (most - least + 1));

function shuffled<Item>(items: readonly Item[], random: () => number): Item[] {
  const mixed = [...items];
  for (let last = mixed.length - 1; last > 0; last -= 1) {
    const other = Math.floor(random() * (last + 1));
    [mixed[last], mixed[other]] = [mixed[other] as Item, mixed[last] as Item];
  }
  return mixed;
}

/**
 * The rounds of a run. Every kind of fault comes once before any comes twice.
 *
 * @param options.rounds how many
 * @param options.servers how many servers there are
 * @param options.kinds the kinds to take from
 */
export function planRounds(
  seed: number,
  options: { readonly rounds: number; readonly servers: number; readonly kinds: readonly Fault[] },
): Round[] {
  const random = seeded(seed);
  const plan: Round[] = [];
  while (plan.length < options.rounds) {
    for (const fault of shuffled(options.kinds, random)) {
      const isLong = Math.floor(random() * LONG_ONE_IN) === 0;
      const lastsMs = between(random, isLong ? LONG_MS : SHORT_MS);
      plan.push({
        fault,
        server: Math.floor(random() * options.servers),
        afterBodies: between(random, BODIES_BEFORE),
        lastsMs: INSTANT.includes(fault) ? 0 : lastsMs,
      });
    }
  }
  return plan.slice(0, options.rounds);
}
