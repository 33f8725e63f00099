/**
 * Findings as comma-separated values (RFC 4180), oldest first, for spreadsheets. Like every export it
 * never contains excerpts.
 */
import { categoryName } from '../../../model/finding-fields.ts';
import type { FindingFilter } from '../../../model/findings.ts';
import type { ReferenceIndex } from '../../../model/references/rule-references.ts';
import { type PageCursor, RUN_NAME_ROWS } from '../../../model/runs.ts';
import { findingUrl } from './finding-schema.ts';
import type { ExportSlots, FindingExporter } from './ocsf-export.ts';

const PAGE_FINDINGS = 200;
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

const row = (cells: readonly string[]): string => `${cells.map(cell).join(',')}\r\n`;

interface CsvExport {
  readonly exporter: FindingExporter;
  /** counts the running exports */
  readonly slots: ExportSlots;
  readonly titleOf: (ruleId: string) => string;
  readonly referencesOf: ReferenceIndex['idsOf'];
  /** where the dashboard is */
  readonly baseUrl: string;
}

/**
 * @param signal aborted when the client leaves: no further page is read
 * @yields the file, page by page
 * @throws {SluiceError} `overloaded` when too many exports are running
 */
export async function* csvOf(
  csv: CsvExport,
  workspaceId: number,
  filter: FindingFilter,
  signal?: AbortSignal,
): AsyncGenerator<Buffer> {
  const { slots } = csv;
  slots.take(workspaceId);
  try {
    yield Buffer.from(row(COLUMNS));
    yield* rowsOf(csv, workspaceId, filter, signal);
  } finally {
    slots.release(workspaceId);
  }
}

async function* rowsOf(
  { exporter, titleOf, referencesOf, baseUrl }: CsvExport,
  workspaceId: number,
  filter: FindingFilter,
  signal: AbortSignal | undefined,
): AsyncGenerator<Buffer> {
  const before = await exporter.settledBefore(workspaceId);
  let after: PageCursor | null = null;
  do {
    const range: Parameters<FindingExporter['page']>[2] = { after, before };
    const page = await exporter.page(workspaceId, filter, range, PAGE_FINDINGS, signal);
    const rows = page.findings.map((finding) =>
      row([
        finding.createdAt.toISOString(),
        finding.severity,
        categoryName(finding.category),
        finding.ruleId,
        titleOf(finding.ruleId),
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
        referencesOf(finding.ruleId).join(' '),
        finding.state,
        finding.assignee ?? '',
        String(finding.isExcepted),
      ]),
    );
    yield Buffer.from(rows.join(''));
    after = page.next;
  } while (after !== null);
}
