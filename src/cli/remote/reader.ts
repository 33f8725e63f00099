/**
 * Reads findings, exceptions, runs and tools, of a server through a login or of the local database. Both are answered by the
 * same handlers (`http/api`), so a command shows the same either way.
 */
import { z } from 'zod';
import { sameForAll } from '../../db/databases.ts';
import { findWorkspace } from '../../db/people/workspaces.ts';
import { fromPrimary } from '../../db/replica/read-choice.ts';
import { createRuleBook } from '../../engine/rules/rule-book.ts';
import { OperatorError, SluiceError } from '../../errors.ts';
import type { ApiContext } from '../../http/api/api-context.ts';
import type { AuthorizedHandler } from '../../http/api/authorized.ts';
import { listExceptions } from '../../http/api/exceptions/exception-routes.ts';
import { listFindings, showFinding } from '../../http/api/findings/finding-routes.ts';
import { listIncidents } from '../../http/api/findings/incident-routes.ts';
import { listRuns, searchRuns, showRun } from '../../http/api/runs/run-routes.ts';
import { listTools, showTool } from '../../http/api/tools/tool-routes.ts';
import { InvalidInput } from '../../http/transport/invalid-input.ts';
import { pinnedCorpus, pinnedRuleFiles } from '../../main/corpus-location.ts';
import { programVersion } from '../../main/program-version.ts';
import { createRunReaders } from '../../main/run-reader.ts';
import { loadKeptCatalog } from '../../pool/kept-catalog.ts';
import { readClock, withDatabase } from '../with-database.ts';
import { chooseServer, type PlaceOptions } from './place.ts';
import { call, type Query, queryText } from './server-call.ts';

/** The resources that can be read, as paths below `/cli/v1`. */
type Listed = 'findings' | 'incidents' | 'exceptions' | 'runs' | 'runs/search' | 'tools';
type Shown = 'findings' | 'runs' | 'tools';

export interface Reader {
  readonly list: (subject: Listed, query: Query) => Promise<unknown>;
  readonly show: (subject: Shown, id: string) => Promise<unknown>;
}

interface Handlers {
  readonly list: Readonly<Record<Listed, AuthorizedHandler>>;
  readonly show: Readonly<Record<Shown, AuthorizedHandler>>;
}

/** A refusal of a handler as what a command reports. */
export function asOperatorError(error: unknown): unknown {
  if (!(error instanceof SluiceError)) return error;
  const faults = error instanceof InvalidInput ? error.faults : [];
  const lines = faults.map(({ path, message }) => `\n  ${path}: ${message}`).join('');
  return new OperatorError(`${error.message}${lines}`, { cause: error });
}

function localReader(handlers: Handlers, workspaceId: number): Reader {
  const run = async (handler: AuthorizedHandler, query: Query, id: string): Promise<unknown> => {
    try {
      const parameters = { findingId: id, runId: id, toolId: id };
      const exchange = { query: queryText(query) };
      const { body } = await handler(exchange, { workspaceId }, parameters);
      return JSON.parse(body.toString()) as unknown;
    } catch (error) {
      throw asOperatorError(error);
    }
  };
  return {
    list: (subject, query) => run(handlers.list[subject], query, ''),
    show: (subject, id) => run(handlers.show[subject], {}, id),
  };
}

/** Runs a command with the parts of handlers, on the local database. */
export async function withLocalContext(
  workspace: string | undefined,
  work: (context: ApiContext, workspaceId: number) => Promise<void>,
): Promise<void> {
  await withDatabase(async ({ database }, config) => {
    const { nowMs } = await readClock(database);
    const { id } = await findWorkspace(database, workspace ?? null);
    const context = {
      db: sameForAll(database),
      rules: createRuleBook(loadKeptCatalog(pinnedCorpus())),
      readRuleFile: pinnedRuleFiles(),
      runs: createRunReaders(config)(fromPrimary(() => database)),
      version: programVersion(),
      baseUrl: config.baseUrl,
      nowMs,
    };
    await work(context, id);
  });
}

export async function withReader(
  options: PlaceOptions,
  work: (reader: Reader) => Promise<void>,
): Promise<void> {
  const login = chooseServer(options);
  if (login !== null) {
    await work({
      list: (subject, query) => call(login, `/cli/v1/${subject}`, { query }),
      show: (subject, id) => call(login, `/cli/v1/${subject}/${encodeURIComponent(id)}`),
    });
    return;
  }
  await withLocalContext(options.workspace, async (context, workspaceId) => {
    const handlers = {
      list: {
        findings: listFindings(context),
        incidents: listIncidents(context),
        exceptions: listExceptions(context),
        runs: listRuns(context),
        'runs/search': searchRuns(context),
        tools: listTools(context),
      },
      show: {
        findings: showFinding(context),
        runs: showRun(context),
        tools: showTool(context),
      },
    };
    await work(localReader(handlers, workspaceId));
  });
}

/**
 * The parts of an answer that are shown.
 *
 * @throws {OperatorError} when it has another form, as from a server of another version
 */
export function parts<Shape extends z.ZodType>(shape: Shape, body: unknown): z.infer<Shape> {
  const parsed = shape.safeParse(body);
  if (parsed.success) return parsed.data;
  throw new OperatorError(
    `The server's answer is not what this version of sluice expects:\n${z.prettifyError(parsed.error)}`,
  );
}
