/** `sluice incidents list`: which runs deserve a look, and why, locally or on a remote server. */

import type { Command } from 'commander';
import type { z } from 'zod';
import { incidentPage } from '../../http/api/findings/incident-routes.ts';
import { surfaceLabel } from '../../model/steps.ts';
import { paint } from '../../terminal/paint.ts';
import { plain } from '../../terminal/printable.ts';
import { answer, shownTime } from '../answer.ts';
import { type QueryOptions, queryOf, withPlaces } from '../command.ts';
import { parts, withPlace } from '../remote/calls.ts';
import { FILTER_NAMES, nextPage, withFilters } from './finding-commands.ts';

type IncidentBody = z.infer<typeof incidentPage>['incidents'][number];

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
    `  ${plain([...new Set(who)].join(' · ') || '(agent unknown)')} · ${shownTime(one.last_seen_at)} UTC · ` +
      `${one.findings === 1 ? '1 finding' : `${one.findings} findings`}${repeats}`,
    ...chainOf(one),
    ...one.reasons.map(
      ({ points, text }) => `  ${points < 0 ? points : `+${points}`}  ${plain(text)}`,
    ),
    `  ${plain(one.url)}`,
  ].join('\n');
}

async function list(options: QueryOptions): Promise<void> {
  await withPlace(options, async ({ call }) => {
    const body = await call('/incidents', { query: queryOf(options, FILTER_NAMES) });
    answer(options, body, () => {
      const { incidents, next_cursor: next, searched_to: searchedTo } = parts(incidentPage, body);
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
  withPlaces(
    withFilters(incidents.command('list'))
      .description(
        'list incidents with their chain and rank, those that deserve a look first on top',
      )
      .option('--limit <n>', 'incidents on a page, 1 to 100')
      .option('--cursor <cursor>', 'continue after the previous page'),
    'incidents list --since 24h',
  ).action(list);
}
