/**
 * A result of `sluice doctor`: one check with its state, what was found, and what to change. The state
 * of all is the worst one.
 */
import { paint } from '../../terminal/output.ts';

const CHECK_STATES = ['ok', 'warning', 'problem'] as const;
type CheckState = (typeof CHECK_STATES)[number];

const CHECK_AREAS = ['machine', 'settings', 'rules', 'postgresql', 'redis'] as const;
type CheckArea = (typeof CHECK_AREAS)[number];

export interface Check {
  readonly area: CheckArea;
  readonly name: string;
  readonly state: CheckState;
  readonly found: string;
  /** the next step; null when all is well */
  readonly change: string | null;
}

export function checksOf(area: CheckArea) {
  return {
    ok: (name: string, found: string): Check => ({ area, name, state: 'ok', found, change: null }),
    warning: (name: string, found: string, change: string): Check => ({
      area,
      name,
      state: 'warning',
      found,
      change,
    }),
    problem: (name: string, found: string, change: string): Check => ({
      area,
      name,
      state: 'problem',
      found,
      change,
    }),
  };
}

export function worstOf(checks: readonly Check[]): CheckState {
  const worst = Math.max(0, ...checks.map(({ state }) => CHECK_STATES.indexOf(state)));
  return CHECK_STATES[worst] ?? 'ok';
}

const AREA_TITLES: Readonly<Record<CheckArea, string>> = {
  machine: 'This machine',
  settings: 'Settings',
  rules: 'Rules',
  postgresql: 'PostgreSQL',
  redis: 'Redis',
};
const PAINTS: Readonly<Record<CheckState, (text: string) => string>> = {
  ok: paint.green,
  warning: paint.yellow,
  problem: paint.red,
};
const NAME_WIDTH = 19;
const STATE_WIDTH = 9;

function lineOf({ name, state, found, change }: Check): string {
  const head = `  ${PAINTS[state](state.padEnd(STATE_WIDTH))}${name.padEnd(NAME_WIDTH)} ${found}`;
  if (change === null) return head;
  return `${head}\n  ${' '.repeat(STATE_WIDTH + NAME_WIDTH)} → ${change}`;
}

function count(checks: readonly Check[], state: CheckState): string {
  const number = checks.filter((check) => check.state === state).length;
  return `${number} ${state}${number === 1 ? '' : 's'}`;
}

export function renderChecks(checks: readonly Check[]): string {
  const areas = CHECK_AREAS.flatMap((area) => {
    const own = checks.filter((check) => check.area === area);
    return own.length === 0 ? [] : [[paint.bold(AREA_TITLES[area]), ...own.map(lineOf)].join('\n')];
  });
  const fine = checks.filter(({ state }) => state === 'ok').length;
  const last = `${fine} ok, ${count(checks, 'warning')}, ${count(checks, 'problem')}`;
  return [...areas, last].join('\n\n');
}

export function messageOf(error: unknown): string {
  const { message, errors } = error as { message?: string; errors?: readonly Error[] };
  // Node.js tries all addresses of a name; the message of all attempts together is empty.
  return message || errors?.map((one) => one.message).join(', ') || String(error);
}

const ADVICE: Readonly<Record<string, (setting: string) => string>> = {
  ECONNREFUSED: (setting) => `Start PostgreSQL, or correct host and port in ${setting}.`,
  ENOTFOUND: (setting) => `Correct the host in ${setting}, or the name service of this machine.`,
  EAI_AGAIN: (setting) => `Correct the host in ${setting}, or the name service of this machine.`,
  // invalid_password, and invalid_authorization_specification, as without a line in pg_hba.conf
  '28P01': (setting) => `Correct user and password in ${setting}, or ALTER ROLE … PASSWORD.`,
  '28000': (setting) =>
    `Correct the user in ${setting}, or admit it and this machine in pg_hba.conf of the server.`,
  '3D000': (setting) =>
    `CREATE DATABASE … OWNER the user of ${setting}, or correct the name of the database in it.`,
  // too_many_connections
  '53300': () => 'Raise max_connections, or close connections (pg_stat_activity lists them).',
  // cannot_connect_now
  '57P03': () => 'Wait until PostgreSQL has started; its log says what it does.',
};

/** Of the error, or of the first of several addresses. */
function codeOf(error: unknown): string {
  const { code, errors, cause } = error as {
    readonly code?: unknown;
    readonly errors?: readonly unknown[];
    readonly cause?: unknown;
  };
  if (typeof code === 'string') return code;
  const inner = errors?.[0] ?? cause;
  return inner == null ? '' : codeOf(inner);
}

export function connectionAdvice(error: unknown, setting: string): string {
  const advice = ADVICE[codeOf(error)];
  return (
    advice?.(setting) ??
    `Correct ${setting}. PostgreSQL's log may say why; a firewall may be between.`
  );
}
