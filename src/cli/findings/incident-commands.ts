/** `sluice incidents list`: which runs deserve a look, and why, locally or on a remote server. */

import type { Command } from 'commander';
import { z } from 'zod';
import { surfaceLabel } from '../../model/steps.ts';
import { paint } from '../../terminal/paint.ts';
import { plain } from '../../terminal/printable.ts';
import { answer, shownTime } from '../answer.ts';
import { serverOption } from '../remote/place.ts';
import { parts, withReader } from '../remote/reader.ts';
import { type ListOptions, nextPage, queryOf, withFilters } from './finding-commands.ts';

const incident = z.object({
  run_id: z.string(),
  title: z.string(),
  severity: z.string(),
  agent: z.string().nullable(),
  service: z.string().nullable(),
  user_id: z.string().nullable(),
  last_seen_at: z.string(),
  findings: z.number(),
  repeats: z.number(),
  chain: z.array(
    z.object({
      step: z.number(),
      surface: z.string(),
      tool: z.string().nullable(),
      title: z.string(),
    }),
  ),
  more_links: z.number(),
  score: z.number(),
  reasons: z.array(z.object({ points: z.number(), text: z.string() })),
  url: z.string(),
});
type IncidentBody = z.infer<typeof incident>;

const page = z.object({
  incidents: z.array(incident),
  next_cursor: z.string().nullable(),
  searched_to: z.string().nullable(),
});

function chainOf({ chain, more_links: more }: IncidentBody): string[] {
  const links = chain.map(({ step, surface, tool, title }, index) => {
    const where = `step ${step} ${surfaceLabel(surface).toLowerCase()}${tool === null ? '' : ` ${tool}`}`;
    return `  ${index === 0 ? ' ' : '→'} ${plain(where)}: ${plain(title)}`;
  });
  return more === 0 ? links : [...links, `    ${more} more`];
}

function describe(one: IncidentBody): string {
  const who = [one.agent, one.service, one.user_id].filter((name) => name !== null);
  const repeats = one.repeats === 1 ? '' : `, the same in ${one.repeats} runs`;
  return [
    `${paint.bold(plain(one.title))}  ${plain(one.severity)}, rank ${one.score}`,
    `  ${plain([...new Set(who)].join(' · ') || '(agent unknown)')} · ${shownTime(new Date(one.last_seen_at))} UTC · ` +
      `${one.findings === 1 ? '1 finding' : `${one.findings} findings`}${repeats}`,
    ...chainOf(one),
    ...one.reasons.map(
      ({ points, text }) => `  ${points < 0 ? points : `+${points}`}  ${plain(text)}`,
    ),
    `  ${plain(one.url)}`,
  ].join('\n');
}

async function list(options: ListOptions): Promise<void> {
  await withReader(options, async (reader) => {
    const body = await reader.list('incidents', queryOf(options));
    answer(options, body, () => {
      const { incidents, next_cursor: next, searched_to: searchedTo } = parts(page, body);
      const older =
        next === null && searchedTo !== null
          ? ['', `Older runs were not ranked: --until ${plain(searchedTo)}`]
          : [];
      const lines =
        incidents.length === 0 ? ['No incidents.'] : [incidents.map(describe).join('\n\n')];
      return [...lines, ...nextPage('sluice incidents list', next), ...older].join('\n');
    });
  });
}

export function addIncidentCommands(program: Command): void {
  const incidents = program
    .command('incidents')
    .description('incidents: runs with findings, ranked');
  withFilters(incidents.command('list'))
    .description('list incidents with their chain and rank, those that deserve a look first on top')
    .option('--limit <n>', 'incidents on a page, 1 to 100')
    .option('--cursor <cursor>', 'continue after the previous page')
    .option('--workspace <slug>', 'workspace; can be omitted if there is only one')
    .addOption(serverOption())
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  sluice incidents list --since 24h')
    .action(list);
}
