/**
 * A workspace's findings, oldest first, without excerpts, read page by page while they are sent: as OCSF
 * events, one line each (`GET /platform/v1/risk-findings/ocsf`), and as comma-separated values (RFC 4180).
 *
 * An answer contains the findings before a time before which no new one can appear. So a consumer that
 * requests everything `after` the last finding it has gets every finding once, whatever is stored in
 * the meantime and wherever a transfer broke.
 */
import { z } from 'zod';
import type { WorkspaceReader } from '../../../db/connection-turns.ts';
import type { Databases } from '../../../db/databases.ts';
import { findPlace, listFindingFacts } from '../../../db/findings/findings.ts';
import { SluiceError } from '../../../errors.ts';
import { categoryName } from '../../../model/finding-fields.ts';
import type { FindingFilter } from '../../../model/findings.ts';
import type { Hex16 } from '../../../model/json.ts';
import { type PageCursor, RUN_NAME_ROWS } from '../../../model/runs.ts';
import { NDJSON_TYPE, type StreamedAnswer } from '../../transport/exchange.ts';
import { hexId, InvalidInput, parseQuery } from '../../transport/input.ts';
import type { ApiContext, AuthorizedHandler } from '../authorized.ts';
import { filterOf, filterQuery } from './finding-query.ts';
import { findingUrl } from './finding-schema.ts';
import { OCSF_VERSIONS, type OcsfSource, type OcsfVersion, toOcsf } from './ocsf.ts';

/** Findings in memory for one export: about half a MiB of text. */
const PAGE_FINDINGS = 200;
/** Concurrent exports, of one workspace and in all. */
const WORKSPACE_EXPORTS_MAX = 4;
const EXPORTS_MAX = 32;

export const exportQuery = filterQuery.extend({
  after: hexId.optional().describe('Id of the last finding you have: only later ones.'),
});

export const ocsfQuery = exportQuery.extend({
  version: z.enum(OCSF_VERSIONS).optional().describe('Of OCSF; 1.5 by default.'),
});

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

/** @throws {InvalidInput} when the workspace has no finding of the id `after` */
export type OcsfExport = (
  reader: WorkspaceReader,
  filter: FindingFilter,
  after: Hex16 | undefined,
  version: OcsfVersion | undefined,
) => Promise<StreamedAnswer>;

type FindingFacts = Awaited<ReturnType<typeof listFindingFacts>>['findings'][number];

/** @throws {SluiceError} `overloaded` when too many exports are running */
async function* exported(
  db: Databases,
  slots: ExportSlots,
  caller: WorkspaceReader,
  filter: FindingFilter,
  start: PageCursor | null,
  toText: (page: readonly FindingFacts[]) => string,
  head?: string,
): AsyncGenerator<Buffer> {
  const { workspaceId } = caller;
  const reader = { ...caller, isExport: true };
  slots.take(workspaceId);
  try {
    if (head !== undefined) yield Buffer.from(head);
    const before = await db.settledBefore(reader);
    let after = start;
    do {
      const range = { after, before };
      const page = await db.read(listFindingFacts, reader, filter, range, PAGE_FINDINGS);
      yield Buffer.from(toText(page.findings));
      after = page.next;
    } while (after !== null);
  } finally {
    slots.release(workspaceId);
  }
}

export function ocsfExport(db: Databases, source: OcsfSource, slots: ExportSlots): OcsfExport {
  return async (caller, filter, after, version) => {
    const start = after === undefined ? null : await db.find(findPlace, caller.workspaceId, after);
    if (after !== undefined && start === null) {
      throw new InvalidInput('bad_query', [
        { path: 'after', message: 'is no finding of this workspace, or past retention; use since' },
      ]);
    }
    const chunks = exported(db, slots, caller, filter, start, (page) =>
      page.map((finding) => `${JSON.stringify(toOcsf(finding, source, version))}\n`).join(''),
    );
    return { contentType: NDJSON_TYPE, chunks };
  };
}

/** The handler of the route; its exports are counted together. */
export function exportFindings(
  context: ApiContext,
  source: OcsfSource,
): AuthorizedHandler<StreamedAnswer> {
  const toOcsfFile = ocsfExport(context.db, source, new ExportSlots());
  return async (exchange, { workspaceId }) => {
    const { version, ...query } = parseQuery(ocsfQuery, exchange.query);
    const filter = filterOf(query, context, null);
    const reader = { workspaceId, signal: exchange.signal };
    return await toOcsfFile(reader, filter, query.after, version);
  };
}

const COLUMNS = [
  'created_at',
  'severity',
  'category',
  'rule_id',
  'rule_title',
  'rule_version',
  'rule_status',
  'surface',
  'field',
  'step_name',
  'step_span_id',
  'run_id',
  'finding_id',
  'corpus_version',
  'corpus_identity',
  'url',
  ...RUN_NAME_ROWS.map(({ name }) => name),
  'tool',
  'reference_ids',
  'state',
  'assignee',
  'is_excepted',
];

/** Characters that may start a formula in a spreadsheet, including their full-width forms. */
const FORMULA =
  /[=+\-@\u2212\u207a-\u207c\u208a-\u208c\ufe62\ufe63\ufe66\ufe6b\uff0b\uff0d\uff1d\uff20]/;
/** Invisible characters and quotes, which a spreadsheet may strip before it looks for a formula. */
const INVISIBLE = /[\s"\p{Cc}\p{Cf}\p{Z}\p{Default_Ignorable_Code_Point}]/u;
/** Separators other than the comma: semicolons in many locales, or tabs. */
const SEPARATOR = /[;\t\n\v\f\r\u0085\u2028\u2029]/;

/**
 * The text with an apostrophe before everything that a spreadsheet could read as a formula, which
 * makes it text (OWASP, CSV Injection): at the start, and after semicolons and tabs, which some
 * spreadsheets take as separators. Step names come from senders.
 */
function escapeFormulas(value: string): string {
  const characters = [...value];
  let text = '';
  let isFormula = false;
  for (let at = characters.length - 1; at >= 0; at -= 1) {
    const character = characters[at] ?? '';
    if (FORMULA.test(character)) isFormula = true;
    else if (!INVISIBLE.test(character)) isFormula = false;
    text = character + text;
    if (isFormula && SEPARATOR.test(characters[at - 1] ?? '\t')) text = `'${text}`;
  }
  return /^[\t\r\n]/.test(text) ? `'${text}` : text;
}

/** A cell of the file, quoted if necessary. */
export function cell(value: string): string {
  const text = escapeFormulas(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export const csvRow = (cells: readonly string[]): string => `${cells.map(cell).join(',')}\r\n`;

/** @param reader its signal is aborted when the client leaves: no further page is read */
export function csvOf(
  { db, rules, baseUrl }: ApiContext,
  slots: ExportSlots,
  reader: WorkspaceReader,
  filter: FindingFilter,
): AsyncGenerator<Buffer> {
  const rowsOf = (page: readonly FindingFacts[]) =>
    page
      .map((finding) =>
        csvRow([
          finding.createdAt.toISOString(),
          finding.severity,
          categoryName(finding.category),
          finding.ruleId,
          rules.titleOf(finding.ruleId),
          finding.ruleVersion,
          finding.ruleStatus,
          finding.surface,
          finding.field,
          finding.stepName ?? '',
          finding.stepSpanId ?? '',
          finding.runId,
          finding.id,
          finding.corpusVersion,
          finding.corpusIdentity,
          findingUrl(baseUrl, finding.id),
          ...RUN_NAME_ROWS.map(({ key }) => finding[key] ?? ''),
          finding.toolName ?? '',
          rules.references.idsOf(finding.ruleId).join(' '),
          finding.state,
          finding.assignee ?? '',
          String(finding.isExcepted),
        ]),
      )
      .join('');
  return exported(db, slots, reader, filter, null, rowsOf, csvRow(COLUMNS));
}
