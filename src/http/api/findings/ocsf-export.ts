/**
 * `GET /platform/v1/risk-findings/ocsf`: a workspace's findings as OCSF events, one line each, oldest
 * first, read page by page while they are sent.
 *
 * An answer contains the findings before a time before which no new one can appear. So a consumer that
 * requests everything `after` the last finding it has gets every finding once, whatever is stored in
 * the meantime and wherever a transfer broke.
 */

import type { Store } from '../../../db/store.ts';
import { SluiceError } from '../../../errors.ts';
import type { FindingFilter } from '../../../model/findings.ts';
import type { Hex16 } from '../../../model/json.ts';
import type { PageCursor } from '../../../model/runs.ts';
import { NDJSON_TYPE, type StreamedAnswer } from '../../transport/exchange.ts';
import { InvalidInput } from '../../transport/invalid-input.ts';
import { hexId, parseQuery } from '../../transport/query.ts';
import type { AuthorizedHandler } from '../authorized.ts';
import { type FilterContext, filterOf, filterQuery } from './finding-query.ts';
import { type OcsfSource, toOcsf } from './ocsf.ts';

export type FindingExporter = Pick<Store['findings'], 'place' | 'settledBefore' | 'page'>;

/** Findings in memory for one export: about half a MiB of text. */
const PAGE_FINDINGS = 200;
/** Concurrent exports, of one workspace and in all. */
const WORKSPACE_EXPORTS_MAX = 4;
const EXPORTS_MAX = 32;

/** The parameters of the export. */
export const exportQuery = filterQuery.extend({
  after: hexId.optional().describe('Id of the last finding you have: only later ones.'),
});

/** Counts the running exports. */
export class ExportSlots {
  readonly #byWorkspace = new Map<number, number>();
  #all = 0;

  /** @throws {SluiceError} `overloaded` */
  take(workspaceId: number): void {
    const own = this.#byWorkspace.get(workspaceId) ?? 0;
    if (own >= WORKSPACE_EXPORTS_MAX || this.#all >= EXPORTS_MAX) {
      throw new SluiceError('overloaded', 'Too many exports are running.', { shortage: 'exports' });
    }
    this.#byWorkspace.set(workspaceId, own + 1);
    this.#all += 1;
  }

  release(workspaceId: number): void {
    const own = this.#byWorkspace.get(workspaceId) ?? 0;
    if (own > 1) this.#byWorkspace.set(workspaceId, own - 1);
    else this.#byWorkspace.delete(workspaceId);
    this.#all -= 1;
  }
}

/**
 * Exports the findings of a filter after one of them.
 *
 * @throws {InvalidInput} when the workspace has no finding of the id `after`
 */
export type OcsfExport = (
  workspaceId: number,
  filter: FindingFilter,
  after: Hex16 | undefined,
  signal?: AbortSignal,
) => Promise<StreamedAnswer>;

/** @param slots count the running exports */
export function ocsfExport(
  exporter: FindingExporter,
  source: OcsfSource,
  slots: ExportSlots,
): OcsfExport {
  async function* linesOf(
    workspaceId: number,
    filter: FindingFilter,
    start: PageCursor | null,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<Buffer> {
    slots.take(workspaceId);
    try {
      const before = await exporter.settledBefore(workspaceId);
      let after = start;
      do {
        const range = { after, before };
        const { findings, next } = await exporter.page(
          workspaceId,
          filter,
          range,
          PAGE_FINDINGS,
          signal,
        );
        const lines = findings.map((finding) => `${JSON.stringify(toOcsf(finding, source))}\n`);
        yield Buffer.from(lines.join(''));
        after = next;
      } while (after !== null);
    } finally {
      slots.release(workspaceId);
    }
  }

  return async (workspaceId, filter, after, signal) => {
    const start = after === undefined ? null : await exporter.place(workspaceId, after);
    if (after !== undefined && start === null) {
      throw new InvalidInput('bad_query', [
        { path: 'after', message: 'is no finding of this workspace, or past retention; use since' },
      ]);
    }
    return { contentType: NDJSON_TYPE, chunks: linesOf(workspaceId, filter, start, signal) };
  };
}

/** The handler of the route; its exports are counted together. */
export function exportFindings(
  exporter: FindingExporter & Omit<FilterContext, 'me'>,
  source: OcsfSource,
): AuthorizedHandler<StreamedAnswer> {
  const exported = ocsfExport(exporter, source, new ExportSlots());
  return async (exchange, { workspaceId }) => {
    const query = parseQuery(exportQuery, exchange.query);
    const filter = filterOf(query, { ...exporter, me: null });
    return await exported(workspaceId, filter, query.after, exchange.signal);
  };
}
