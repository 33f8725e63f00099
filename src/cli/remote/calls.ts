/**
 * Calls what a command reads and changes in a workspace: of a server through a login, or of the local database. The
 * same handlers (http/cli/resources.ts) answer both, so a command does and shows the same either way.
 */
import { z } from 'zod';
import type { Database } from '../../db/database.ts';
import { sameForAll } from '../../db/databases.ts';
import { COMMAND_LINE } from '../../db/people/audit.ts';
import { findWorkspace } from '../../db/people/workspaces.ts';
import { fromPrimary } from '../../db/replica/read-choice.ts';
import { createRuleBook } from '../../engine/rules/rule-book.ts';
import { OperatorError, SluiceError } from '../../errors.ts';
import { RESOURCES, type ResourceContext } from '../../http/cli/resources.ts';
import { checkControls, InvalidInput, parseInput } from '../../http/transport/input.ts';
import { parametersOf } from '../../http/transport/router.ts';
import { alertSenderOf } from '../../main/alerts.ts';
import { pinnedCorpus, pinnedRuleFiles } from '../../main/corpus-location.ts';
import { programVersion } from '../../main/program-version.ts';
import { createRunReaders } from '../../main/run-reader.ts';
import type { RuleBook } from '../../model/rules.ts';
import { loadKeptCatalog } from '../../pool/kept-catalog.ts';
import { answer, type OutputOptions } from '../answer.ts';
import { readClock, withDatabase } from '../with-database.ts';
import { chooseServer, type PlaceOptions, type ServerLogin } from './logins.ts';
import { call, download, queryText, type Sent } from './server-call.ts';

export interface CommandPlace {
  /** slug */
  readonly workspace: string;
  /** @param path below `/cli/v1` */
  readonly call: (path: string, sent?: Sent) => Promise<unknown>;
  readonly download: (path: string) => AsyncIterable<Uint8Array>;
}

interface FoundWorkspace {
  readonly id: number;
  readonly slug: string;
}
type FindWorkspace = (database: Database) => Promise<FoundWorkspace>;

/** A refusal of a handler as what a command reports. */
export function asOperatorError(error: unknown): unknown {
  if (!(error instanceof SluiceError)) return error;
  const faults = error instanceof InvalidInput ? error.faults : [];
  const lines = faults.map(({ path, message }) => `\n  ${path}: ${message}`).join('');
  return new OperatorError(`${error.message}${lines}`, { cause: error });
}

function placeOf(context: ResourceContext, workspace: FoundWorkspace): CommandPlace {
  const answer = async (path: string, { method = 'GET', query = {}, json }: Sent) => {
    for (const resource of RESOURCES.filter((one) => one.method === method)) {
      const parameters = parametersOf(resource.path.split('/'), path.split('/'));
      if (parameters === null) continue;
      const exchange = { query: queryText(query) };
      checkControls(exchange.query, parameters);
      const read = async <Shape extends z.ZodType>(schema: Shape): Promise<z.infer<Shape>> =>
        parseInput(schema, json, 'bad_body');
      const caller = { workspace, actor: COMMAND_LINE, read };
      return await resource.handle(context, exchange, caller, parameters);
    }
    throw new SluiceError('not_found', `There is no ${path}.`);
  };
  return {
    workspace: workspace.slug,
    call: async (path, sent = {}) => {
      try {
        const made = await answer(path, sent);
        return 'body' in made ? (JSON.parse(made.body.toString()) as unknown) : null;
      } catch (error) {
        throw asOperatorError(error);
      }
    },
    download: async function* (path) {
      try {
        const made = await answer(path, {});
        if ('chunks' in made) yield* made.chunks;
      } catch (error) {
        throw asOperatorError(error);
      }
    },
  };
}

/** Runs a command on a workspace of the local database. */
export async function atHome(
  find: FindWorkspace,
  work: (place: CommandPlace) => Promise<void>,
): Promise<void> {
  await withDatabase(async ({ database }, config) => {
    const { baseUrl, brand } = config;
    const clock = await readClock(database);
    const workspace = await find(database);
    // Many commands need no rules, which take long to load.
    let book: RuleBook | null = null;
    const context = {
      db: sameForAll(database),
      get rules() {
        book ??= createRuleBook(loadKeptCatalog(pinnedCorpus()));
        return book;
      },
      get alertSender() {
        return alertSenderOf(config, this.rules, clock);
      },
      readRuleFile: pinnedRuleFiles(),
      runs: createRunReaders(config)(fromPrimary(() => database)),
      version: programVersion(),
      look: { brand },
      baseUrl,
      nowMs: clock.nowMs,
    };
    await work(placeOf(context, workspace));
  });
}

export const named =
  (slug: string | undefined): FindWorkspace =>
  (database) =>
    findWorkspace(database, slug ?? null);

/** @param find the workspace on the local database; the one of `options` when left out */
export async function withPlace(
  options: PlaceOptions,
  work: (place: CommandPlace) => Promise<void>,
  find = named(options.workspace),
): Promise<void> {
  const login = chooseServer(options);
  if (login === null) await atHome(find, work);
  else await work(remotePlace(login));
}

export const remotePlace = (login: ServerLogin): CommandPlace => ({
  workspace: login.workspace,
  call: (path, sent) => call(login, `/cli/v1${path}`, sent),
  download: (path) => download(login, `/cli/v1${path}`),
});

/**
 * The form of an answer of another version: a later server may have other words and further members, and an earlier
 * one may lack what is null elsewhere.
 */
function ofAnyVersion(schema: z.core.$ZodType): z.ZodType {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case 'object': {
      const members = Object.entries(def.shape).map(([name, one]) => [name, ofAnyVersion(one)]);
      return z.looseObject(Object.fromEntries(members));
    }
    case 'array':
      return z.array(ofAnyVersion(def.element));
    case 'record':
      return z.record(z.string(), ofAnyVersion(def.valueType));
    case 'nullable':
      return ofAnyVersion(def.innerType).nullable().default(null);
    case 'optional':
      return ofAnyVersion(def.innerType).optional();
    case 'enum':
    case 'literal':
    case 'string':
      return z.string();
    case 'number':
      return z.number();
    default:
      return schema as z.ZodType;
  }
}

/**
 * Prints the answer to a call: as text for people, under `--json` as it came.
 *
 * @param path below `/cli/v1`
 */
export async function printCall<Shape extends z.ZodType>(
  options: OutputOptions & PlaceOptions,
  path: string,
  shape: Shape,
  text: (body: z.infer<Shape>) => string,
  sent: Sent = {},
): Promise<void> {
  await withPlace(options, async ({ call }) => {
    const body = await call(path, sent);
    answer(options, body, () => text(parts(shape, body)));
  });
}

/** @throws {OperatorError} when it has another form, as from a server of an earlier version */
export function parts<Shape extends z.ZodType>(shape: Shape, body: unknown): z.infer<Shape> {
  const parsed = ofAnyVersion(shape).safeParse(body);
  if (parsed.success) return parsed.data as z.infer<Shape>;
  throw new OperatorError(
    `The server's answer is not what this version of sluice expects:\n${z.prettifyError(parsed.error)}`,
  );
}
