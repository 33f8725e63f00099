/**
 * Findings as comma-separated values (RFC 4180), oldest first, for people's spreadsheets. Like every
 * export it never has their excerpts.
 */
import type { FindingFilter, PageCursor } from '../model.ts';
import type { FindingExporter } from './ocsf-export.ts';
import { findingCategory } from './schemas/finding.ts';

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
];

/**
 * A cell. One that a spreadsheet would take for a formula begins with an apostrophe, which makes it
 * text (OWASP, CSV Injection): names of steps are their senders'.
 */
export function cell(value: string): string {
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const row = (cells: readonly string[]): string => `${cells.map(cell).join(',')}\r\n`;

/** @yields the file, page by page */
export async function* csvOf(
  exporter: FindingExporter,
  workspaceId: number,
  filter: FindingFilter,
  titleOf: (ruleId: string) => string,
): AsyncGenerator<Buffer> {
  yield Buffer.from(row(COLUMNS));
  const before = await exporter.settledBefore();
  let after: PageCursor | null = null;
  do {
    const range: Parameters<FindingExporter['page']>[2] = { after, before };
    const page = await exporter.page(workspaceId, filter, range, PAGE_FINDINGS);
    const rows = page.findings.map((finding) =>
      row([
        finding.createdAt.toISOString(),
        finding.severity,
        findingCategory(finding.category),
        finding.ruleId,
        titleOf(finding.ruleId),
        finding.ruleVersion,
        finding.ruleStatus,
        finding.surface,
        finding.field,
        finding.stepName,
        finding.stepSpanId ?? '',
        finding.runId,
        finding.id,
        finding.corpusVersion,
      ]),
    );
    yield Buffer.from(rows.join(''));
    after = page.next;
  } while (after !== null);
}
