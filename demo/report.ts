/**
 * The demo's report: one line per run, a table of all findings, and their addresses.
 */
import { renderTable, type TableColumn, terminalWidth } from '../src/cli/answer.ts';
import type { Hex16 } from '../src/model/json.ts';
import { paint } from '../src/terminal/output.ts';
import type { FoundItem } from './await-findings.ts';
import type { Conversation } from './conversations.ts';

export interface RunReport {
  readonly conversation: Conversation;
  readonly runId: Hex16;
  readonly findings: readonly FoundItem[];
}

type Row = readonly [
  number: string,
  rule: string,
  severity: string,
  surface: string,
  excerpt: string,
];

const COLUMNS: readonly TableColumn<Row>[] = [
  { title: '#', align: 'right', cell: ([number]) => number },
  { title: 'rule', cell: ([, rule]) => rule },
  { title: 'severity', cell: ([, , severity]) => severity },
  { title: 'surface', cell: ([, , , surface]) => surface },
  { title: 'excerpt', shrinks: true, cell: ([, , , , excerpt]) => excerpt },
];
/** Width of the other columns, gaps included: 2, 14, 13 and 12 characters, four gaps. */
const BESIDE_EXCERPT = 49;
const EXCERPT_WIDTH_MIN = 20;
const INDENT = '  ';

/**
 * Removes control characters and line breaks: an excerpt is untrusted text and could control the
 * terminal.
 */
function oneLine(text: string): string {
  return text.replaceAll(/[\p{C}\s]+/gu, ' ').trim();
}

/**
 * Breaks text at spaces where possible, so that the hit is visible anywhere in the excerpt.
 */
function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let rest = [...text];
  while (rest.length > width) {
    const space = rest.lastIndexOf(' ', width);
    const end = space > width / 3 ? space : width;
    lines.push(rest.slice(0, end).join(''));
    rest = rest.slice(rest[end] === ' ' ? end + 1 : end);
  }
  return [...lines, rest.join('')];
}

function indented(text: string): string {
  return text.replaceAll(/^(?=.)/gm, INDENT);
}

/** The result of a run's evaluation, in one line. */
export function runLine({ conversation, findings }: Omit<RunReport, 'runId'>): string {
  const { title } = conversation;
  if (findings.length === 0) return `${paint.green('✓')} ${title}: evaluated, no findings`;
  const count = findings.length === 1 ? '1 finding' : `${findings.length} findings`;
  return `${paint.red('!')} ${title}: evaluated, ${count}`;
}

/** A finding as rows of the table: further lines of the excerpt have empty other columns. */
function rowsOf(finding: FoundItem, number: number, width: number): Row[] {
  const excerpt = finding.excerpt === null ? '(redacted)' : oneLine(finding.excerpt);
  const excerptWidth = Math.max(EXCERPT_WIDTH_MIN, width - BESIDE_EXCERPT);
  const { rule_id: rule, surface } = finding.metadata;
  return wrap(excerpt, excerptWidth).map((line, index) =>
    index === 0 ? [String(number), rule, finding.severity, surface, line] : ['', '', '', '', line],
  );
}

/**
 * The table of all findings and their addresses.
 *
 * @param baseUrl where the read API is
 */
export function findingsReport(reports: readonly RunReport[], baseUrl: string): string {
  const found = reports.flatMap(({ conversation, findings }) =>
    findings.map((finding) => ({ title: conversation.title, finding })),
  );
  const width = terminalWidth() - INDENT.length;
  const rows = found.flatMap(({ finding }, index) => rowsOf(finding, index + 1, width));
  const [head = '', ...body] = renderTable(rows, COLUMNS, width).split('\n');
  const places = found.flatMap(({ title, finding }, index) => [
    `${String(index + 1).padStart(2)}  ${paint.dim(title)}`,
    `    ${baseUrl}/platform/v1/risk-findings/${finding.id}`,
  ]);
  return indented(
    [
      paint.bold(head),
      ...body,
      '',
      `${paint.bold('Where to look')} (with Authorization: Bearer <WORKSPACE_KEY>)`,
      ...places,
    ].join('\n'),
  );
}
