/** `sluice tools …`: the tools that agents use, and how their definitions changed, locally or on a remote server. */
import type { Command } from 'commander';
import type { z } from 'zod';
import { toolBody, toolList } from '../http/api/tools/tool-routes.ts';
import { diffOf, schemaLines } from '../model/shown/text-diff.ts';
import { toolLabel } from '../model/shown/tools.ts';
import { paint, plain } from '../terminal/output.ts';
import { renderTable, shownTime } from './answer.ts';
import { type QueryOptions, queryOf, withPlaces } from './command.ts';
import { nextPage } from './findings/finding-commands.ts';
import { printCall } from './remote/calls.ts';

type Version = z.infer<typeof toolBody>['versions'][number];

function toolTable(list: z.infer<typeof toolList>): string {
  const { tools, next_cursor: next, is_full: isFull, left_out: leftOut } = list;
  const notes = [
    ...(isFull ? ['The inventory is full: new definitions are not kept.'] : []),
    ...(leftOut > 0 ? [`A run sent ${leftOut} definitions that were not kept.`] : []),
  ];
  if (tools.length === 0) return ['No tools.', ...notes].join('\n');
  const table = renderTable(tools, [
    { title: 'AGENT', cell: (one) => plain(one.agent || '–') },
    { title: 'MCP SERVER', cell: (one) => plain(one.mcp_server || '–') },
    { title: 'TOOL', shrinks: true, cell: (one) => plain(toolLabel(one)) },
    { title: 'VERSION', align: 'right', cell: (one) => String(one.version) },
    { title: 'CHANGED', cell: (one) => shownTime(one.changed_at) },
    { title: 'NOT SEEN', align: 'right', cell: (one) => String(one.changes) },
    { title: 'LAST USED', cell: (one) => shownTime(one.last_seen_at) },
    { title: 'ID', cell: (one) => plain(one.id) },
  ]);
  return [table, ...notes, ...nextPage('sluice tools list', next)].join('\n');
}

const MARKS = { same: '  ', removed: '- ', added: '+ ' } as const;

/** A text, or how it differs from the version before. */
function difference(title: string, before: string | null, after: string | null): string[] {
  if (after === null) return [];
  if (before === null) return [`  ${title}:`, ...indented(after, MARKS.same)];
  if (before === after) return [`  ${title}: as before`];
  const lines = diffOf(`${before}\n`, `${after}\n`, 'lines');
  return [
    `  ${title}:`,
    ...lines.flatMap(({ kind, text }) => indented(text.replace(/\n$/, ''), MARKS[kind])),
  ];
}

const indented = (text: string, mark: string): string[] =>
  text.split('\n').map((line) => `    ${mark}${plain(line)}`);

const lines = (schema: string | null | undefined): string | null =>
  schema == null ? null : schemaLines(schema);

function describe(one: Version, before: Version | undefined): string {
  const runs = one.runs === 1 ? '1 run' : `${one.runs}${one.runs_is_exact ? '' : ' or more'} runs`;
  const state = one.is_change
    ? one.acknowledged_at === null
      ? ', changed'
      : ', changed, seen'
    : '';
  return [
    `${paint.bold(`Version ${one.version}${state}`)}  since ${shownTime(one.first_seen_at)} UTC, ${runs}, first ${plain(one.first_run_id)}`,
    ...difference('description', before?.description ?? null, one.description),
    ...difference('schema', lines(before?.schema), lines(one.schema)),
  ].join('\n');
}

function toolText(one: z.infer<typeof toolBody>): string {
  const from = one.mcp_server ? ` of MCP server ${plain(one.mcp_server)}` : '';
  const head = `${paint.bold(plain(toolLabel(one)))}${from}, agent ${plain(one.agent || '–')}`;
  const all = one.versions.map((each, index) => describe(each, one.versions[index + 1]));
  return [head, ...all].join('\n\n');
}

export function addToolCommands(program: Command): void {
  const tools = program
    .command('tools')
    .description('tools of agents and MCP servers, and how their definitions changed');
  withPlaces(
    tools
      .command('list')
      .description('list tools by agent and MCP server')
      .option('--agent <name>', 'only of this agent')
      .option('--mcp-server <name>', 'only of this MCP server')
      .option('--name <name>', 'only with this name')
      .option('--changed', 'only with a change that nobody has marked as seen, the latest first')
      .option('--limit <n>', 'tools on a page, 1 to 200')
      .option('--cursor <cursor>', 'continue after the previous page'),
    'tools list --changed',
  ).action(async (options: QueryOptions) => {
    await printCall(options, '/tools', toolList, toolTable, { query: queryOf(options) });
  });
  withPlaces(
    tools
      .command('show')
      .description('show the versions of a tool, and what each changed')
      .argument('<id>', 'id of a tool, as list shows it'),
    'tools show 3f1d8a4be1f34c0f9b6f2a1d5e8c3b42',
  ).action(async (id: string, options: QueryOptions) => {
    await printCall(options, `/tools/${encodeURIComponent(id)}`, toolBody, toolText);
  });
}
