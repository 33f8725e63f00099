/** Owns what the demo prints at the end: one line per run, one table of all findings, where to look. */
import { paint } from '../src/cli/paint.ts';
import { type Column, renderTable, terminalWidth } from '../src/cli/table.ts';
import type { Hex16 } from '../src/model.ts';
import type { FoundItem } from './await-findings.ts';
import type { Conversation } from './conversations.ts';

export interface RunReport {
  readonly conversation: Conversation;
  readonly runId: Hex16;
  readonly findings: readonly FoundItem[];
}

const COLUMNS: readonly Column[] = [
  { title: '#', align: 'right' },
  { title: 'run' },
  { title: 'rule' },
  { title: 'severity' },
  { title: 'surface' },
  { title: 'excerpt', shrinks: true },
];
const INDENT = '  ';

/** An excerpt is text of a stranger: what could steer a terminal is taken out, and every line break. */
function oneLine(text: string): string {
  return text.replaceAll(/[\p{C}\s]+/gu, ' ').trim();
}

function indented(text: string): string {
  return text.replaceAll(/^(?=.)/gm, INDENT);
}

/** What a run's evaluation has brought, in one line. */
export function runLine({ conversation, findings }: Omit<RunReport, 'runId'>): string {
  const { title } = conversation;
  if (findings.length === 0) return `${paint.green('✓')} ${title}: evaluated, no findings`;
  const count = findings.length === 1 ? '1 finding' : `${findings.length} findings`;
  return `${paint.red('!')} ${title}: evaluated, ${count}`;
}

/**
 * The table of all findings and where each one can be read.
 *
 * @param baseUrl where the read API is
 */
export function findingsReport(reports: readonly RunReport[], baseUrl: string): string {
  const found = reports.flatMap(({ conversation, findings }) =>
    findings.map((finding) => ({ conversation, finding })),
  );
  const rows = found.map(({ conversation, finding }, index) => [
    String(index + 1),
    conversation.agent,
    finding.metadata.rule_id,
    finding.severity,
    finding.metadata.surface,
    finding.excerpt === null ? '(redacted)' : oneLine(finding.excerpt),
  ]);
  const [head = '', ...body] = renderTable(
    COLUMNS,
    rows,
    terminalWidth() - INDENT.length,
  ).split('\n');
  const places = found.map(
    ({ finding }, index) =>
      `${String(index + 1).padStart(2)}  ${baseUrl}/platform/v1/risk-findings/${finding.id}`,
  );
  return indented(
    [
      paint.bold(head),
      ...body,
      '',
      paint.bold('Where to look (with a workspace key as Authorization: Bearer <WORKSPACE_KEY>)'),
      ...places,
    ].join('\n'),
  );
}
