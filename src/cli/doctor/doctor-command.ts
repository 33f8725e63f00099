/**
 * `sluice doctor`: looks at the machine, the settings, the rules, PostgreSQL and Redis, and lists what
 * to change. It changes nothing, except that the embedded PostgreSQL is started while it looks.
 */
import type { Command } from 'commander';
import { readDataDir } from '../../config/command-settings.ts';
import { type Config, readConfig } from '../../config/config.ts';
import { ConfigError } from '../../config/settings.ts';
import type { Database } from '../../db/database.ts';
import { DatabaseClock } from '../../db/database-clock.ts';
import { readCitusFacts } from '../../db/distribute.ts';
import {
  readCheckpoints,
  readPrivileges,
  readReplication,
  readSchema,
  readServerConnections,
  readServerSettings,
} from '../../db/server-facts.ts';
import { checkBlocks, checkPlaces } from '../../db/telemetry/block-check.ts';
import { loadManifest, verifyCorpus } from '../../engine/corpus/corpus.ts';
import { MANIFEST_PATH, pinnedCorpus } from '../../main/corpus-location.ts';
import { openForInspection } from '../../main/open-database.ts';
import { currentRuntime } from '../../terminal/node-runtime.ts';
import { answer, type OutputOptions } from '../answer.ts';
import {
  type Check,
  checksOf,
  connectionAdvice,
  messageOf,
  renderChecks,
  worstOf,
} from './check.ts';
import {
  blocksCheck,
  citusChecks,
  clockCheck,
  connectionCheck,
  directChecks,
  loadChecks,
  placesCheck,
  privilegeCheck,
  replicaChecks,
  replicationChecks,
  schemaChecks,
  settingsOfServer,
} from './database-checks.ts';
import {
  dataDirCheck,
  diskCheck,
  nativeModuleChecks,
  openFilesCheck,
  portChecks,
  resourceChecks,
  runtimeCheck,
} from './machine-checks.ts';
import { redisChecks, redisNotUsed, redisUnreachable } from './redis-checks.ts';
import { invalidSettings, settingChecks } from './settings-checks.ts';

const ofRules = checksOf('rules');
const ofPostgres = checksOf('postgresql');

function corpusCheck(): Check {
  try {
    const { snapshot } = verifyCorpus(pinnedCorpus().packageDir, loadManifest(MANIFEST_PATH));
    const { version, files, identity } = snapshot;
    return ofRules.ok('Corpus', `${version} (${identity.slice(0, 12)}), ${files} files as listed`);
  } catch (error) {
    const [first = ''] = messageOf(error).split('\n');
    return ofRules.problem(
      'Corpus',
      first,
      'Install Sluice again: sluice corpus verify lists the files.',
    );
  }
}

/** Runs some checks; a read that fails is a check too, and the others continue. */
async function attempt(name: string, work: () => Promise<readonly Check[]>): Promise<Check[]> {
  try {
    return [...(await work())];
  } catch (error) {
    const change = 'Grant the role what the message says, or repair the server.';
    return [ofPostgres.warning(name, `cannot be read: ${messageOf(error)}`, change)];
  }
}

async function inspectServer(database: Database, needed: number | null): Promise<Check[]> {
  const settings = await readServerSettings(database);
  let clockResult: Check | null = null;
  const clock = new DatabaseClock(database, {
    clockCompared: (differenceMs, differs) => {
      clockResult = clockCheck(differenceMs, differs);
    },
  });
  await clock.read();
  const connections = async (): Promise<Check[]> =>
    needed === null ? [] : [connectionCheck(await readServerConnections(database), needed)];
  const replication = async (): Promise<Check[]> => {
    if (settings.isStandby) return [];
    const { replicas, slots } = await readReplication(database);
    return replicationChecks(settings, replicas, slots);
  };
  let isThere = false;
  return [
    ...settingsOfServer(settings),
    ...(clockResult === null ? [] : [clockResult]),
    ...(await attempt('Privileges', async () => [privilegeCheck(await readPrivileges(database))])),
    ...(await attempt('Connections', connections)),
    ...(await attempt('Checkpoints', async () =>
      loadChecks(settings, await readCheckpoints(database, settings.version)),
    )),
    ...(await attempt('Replication', replication)),
    ...(await attempt('Citus', async () => citusChecks(await readCitusFacts(database)))),
    ...(await attempt('Schema', async () => {
      const schema = await readSchema(database, clock.nowMs());
      isThere = schema !== null && schema.missingMigrations.length === 0;
      return schemaChecks(schema);
    })),
    ...(await attempt('Blocks', async () =>
      isThere
        ? [blocksCheck(await checkBlocks(database)), placesCheck(await checkPlaces(database))]
        : [],
    )),
  ];
}

async function databaseChecks(config: Config): Promise<Check[]> {
  let open: Awaited<ReturnType<typeof openForInspection>>;
  try {
    open = await openForInspection(config);
  } catch (error) {
    const change =
      config.databaseUrl === null
        ? 'See server.log in the folder of its data, and docs/operations.md (the embedded PostgreSQL).'
        : connectionAdvice(error, 'DATABASE_URL');
    return [ofPostgres.problem('Connection', messageOf(error), change)];
  }
  if (open === null) {
    const found = `none in ${config.dataDir} yet: the first start of the server creates it`;
    return [ofPostgres.ok('Database', found)];
  }
  try {
    const { database, where, route, connections } = open;
    return [
      ofPostgres.ok('Connection', where),
      ...(await directChecks(config, route)),
      // A pooler's server has other connections than this process.
      ...(await inspectServer(database, route.isDirect ? connections : null)),
      ...(await replicaChecks(config, database)),
    ];
  } catch (error) {
    const change = 'PostgreSQL answered, and then did not: see its log.';
    return [ofPostgres.problem('Connection', messageOf(error), change)];
  } finally {
    await open.close();
  }
}

async function redisResults({ redisUrl }: Config): Promise<Check[]> {
  if (redisUrl === null) return [redisNotUsed()];
  // The library takes 40 ms to load.
  const { readRedisFacts } = await import('../../http/limits/redis-counts.ts');
  try {
    return redisChecks(await readRedisFacts(redisUrl));
  } catch (error) {
    return [redisUnreachable(messageOf(error))];
  }
}

/** The configuration, or the checks that say why there is none. */
function readSettings(): { readonly config: Config | null; readonly checks: readonly Check[] } {
  try {
    const config = readConfig(process.env);
    return { config, checks: settingChecks(config) };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { config: null, checks: invalidSettings(error.problems) };
  }
}

async function inspect(): Promise<Check[]> {
  const { config, checks } = readSettings();
  const files = openFilesCheck();
  const dataDir = config?.dataDir ?? readDataDir(process.env);
  const holdsDatabase = config !== null && config.databaseUrl === null;
  const machine = [
    runtimeCheck(currentRuntime()),
    ...(await nativeModuleChecks()),
    ...(files === null ? [] : [files]),
    dataDirCheck(dataDir, holdsDatabase),
    diskCheck(dataDir, holdsDatabase),
  ];
  const always = [...machine, ...checks, corpusCheck()];
  if (config === null) return always;
  const [ports, database, redis] = await Promise.all([
    portChecks(config),
    databaseChecks(config),
    redisResults(config),
  ]);
  return [...always, ...resourceChecks(config), ...ports, ...database, ...redis];
}

async function doctor(options: OutputOptions): Promise<void> {
  const hide = createHiding(secretsOf(process.env));
  const checks = (await inspect()).map((check) => ({
    ...check,
    found: hide(check.found),
    change: check.change === null ? null : hide(check.change),
  }));
  const state = worstOf(checks);
  answer(options, { state, checks }, () => renderChecks(checks));
  if (state === 'problem') process.exitCode = 1;
}

export function addDoctorCommand(program: Command): void {
  program
    .command('doctor')
    .description('check machine, settings, rules, PostgreSQL and Redis, and say what to change')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nUses the settings of the server and changes nothing. Exit code 1 when there is a problem;\n' +
        'warnings alone give 0. Passwords and keys are never printed.\n' +
        '\nExamples:\n  sluice doctor\n  DATABASE_URL=postgres://… sluice doctor --json',
    )
    .action(doctor);
}

// Removes secrets of the settings from texts that are printed: messages of PostgreSQL, Redis or
// Node.js may repeat a part of what they were given.

const URL_SETTING = /_URL$/;
const SECRET_SETTING = /(SECRET|PASSWORD|API_KEY|TOKEN)$/;
const PASSWORD_OF_URL = /^[a-z+]+:\/\/[^:@/]*:([^@/]+)@/i;
const HIDDEN = '[hidden]';

/** A text and its percent-decoded form. */
function formsOf(text: string): string[] {
  try {
    return [text, decodeURIComponent(text)];
  } catch {
    return [text];
  }
}

export function secretsOf(env: Readonly<Record<string, string | undefined>>): string[] {
  const secrets = Object.entries(env).flatMap(([name, value = '']) => {
    if (SECRET_SETTING.test(name)) return [value.trim()];
    if (!URL_SETTING.test(name)) return [];
    const [, ofUrl] = PASSWORD_OF_URL.exec(value.trim()) ?? [];
    const ofQuery = new URLSearchParams(/\?([^#]*)/.exec(value)?.[1] ?? '').get('password');
    return [ofUrl, ofQuery].flatMap((one) => (one == null ? [] : formsOf(one)));
  });
  return [...new Set(secrets)]
    .filter((secret) => secret !== '')
    .sort((one, other) => other.length - one.length);
}

export function createHiding(secrets: readonly string[]): (text: string) => string {
  return (text) => secrets.reduce((rest, secret) => rest.replaceAll(secret, HIDDEN), text);
}
