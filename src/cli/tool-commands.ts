/** `sluice tools …`: the tools that agents use, and how their definitions changed, locally or on a remote server. */
import type { Command } from 'commander';
import { z } from 'zod';
import { diffOf, schemaLines } from '../model/shown/text-diff.ts';
import { toolLabel } from '../model/shown/tools.ts';
import { paint } from '../terminal/paint.ts';
import { plain } from '../terminal/printable.ts';
import { answer, type OutputOptions, shownTime } from './answer.ts';
import { nextPage } from './findings/finding-commands.ts';
import { type PlaceOptions, serverOption } from './remote/place.ts';
import { parts, withReader } from './remote/reader.ts';
import { renderTable } from './table.ts';

interface ListOptions extends OutputOptions, PlaceOptions {
  readonly agent?: string;
  readonly mcpServer?: string;
  readonly name?: string;
  readonly changed?: boolean;
  readonly limit?: string;
  readonly cursor?: string;
}

const identity = {
  id: z.string(),
  agent: z.string(),
  mcp_server: z.string().nullable(),
  name: z.string().nullable(),
};
const page = z.object({
  tools: z.array(
    z.object({
      ...identity,
      version: z.number(),
      last_seen_at: z.string(),
      changes: z.number(),
      changed_at: z.string().nullable(),
    }),
  ),
  next_cursor: z.string().nullable(),
  is_full: z.boolean(),
  left_out: z.number(),
});
const version = z.object({
  version: z.number(),
  is_change: z.boolean(),
  first_seen_at: z.string(),
  last_seen_at: z.string(),
  first_run_id: z.string(),
  runs: z.number(),
  runs_is_exact: z.boolean(),
  acknowledged_at: z.string().nullable(),
  description: z.string().nullable(),
  schema: z.string().nullable(),
});
const tool = z.object({ ...identity, versions: z.array(version) });
type Version = z.infer<typeof version>;

const shown = (time: string): string => shownTime(new Date(time));

async function list(options: ListOptions): Promise<void> {
  const { agent, mcpServer, name, changed, limit, cursor } = options;
  await withReader(options, async (reader) => {
    const only = changed === true ? 'true' : undefined;
    const query = { agent, mcp_server: mcpServer, name, changed: only, limit, cursor };
    const body = await reader.list('tools', query);
    answer(options, body, () => {
      const { tools, next_cursor: next, is_full: isFull, left_out: leftOut } = parts(page, body);
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
        {
          title: 'CHANGED',
          cell: (one) => (one.changed_at === null ? '–' : shown(one.changed_at)),
        },
        { title: 'NOT SEEN', align: 'right', cell: (one) => String(one.changes) },
        { title: 'LAST USED', cell: (one) => shown(one.last_seen_at) },
        { title: 'ID', cell: (one) => plain(one.id) },
      ]);
      return [table, ...notes, ...nextPage('sluice tools list', next)].join('\n');
    });
  });
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
    `${paint.bold(`Version ${one.version}${state}`)}  since ${shown(one.first_seen_at)} UTC, ${runs}, first ${plain(one.first_run_id)}`,
    ...difference('description', before?.description ?? null, one.description),
    ...difference('schema', lines(before?.schema), lines(one.schema)),
  ].join('\n');
}

async function show(id: string, options: OutputOptions & PlaceOptions): Promise<void> {
  await withReader(options, async (reader) => {
    const body = await reader.show('tools', id);
    answer(options, body, () => {
      const one = parts(tool, body);
      const from = one.mcp_server ? ` of MCP server ${plain(one.mcp_server)}` : '';
      const head = `${paint.bold(plain(toolLabel(one)))}${from}, agent ${plain(one.agent || '–')}`;
      const all = one.versions.map((each, index) => describe(each, one.versions[index + 1]));
      return [head, ...all].join('\n\n');
    });
  });
}

/** Adds `tools list` and `tools show`. */
export function addToolCommands(program: Command): void {
  const tools = program
    .command('tools')
    .description('tools of agents and MCP servers, and how their definitions changed');
  tools
    .command('list')
    .description('list tools by agent and MCP server')
    .option('--agent <name>', 'only of this agent')
    .option('--mcp-server <name>', 'only of this MCP server')
    .option('--name <name>', 'only with this name')
    .option('--changed', 'only with a change that nobody has marked as seen, the latest first')
    .option('--limit <n>', 'tools on a page, 1 to 200')
    .option('--cursor <cursor>', 'continue after the previous page')
    .option('--workspace <slug>', 'workspace; can be omitted if there is only one')
    .addOption(serverOption())
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  sluice tools list --changed')
    .action(list);
  tools
    .command('show')
    .description('show the versions of a tool, and what each changed')
    .argument('<id>', 'id of a tool, as list shows it')
    .option('--workspace <slug>', 'workspace; can be omitted if there is only one')
    .addOption(serverOption())
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  sluice tools show 3f1d8a4be1f34c0f9b6f2a1d5e8c3b42')
    .action(show);
}
