/** `sluice incidents list`: which runs deserve a look, and why, locally or on a remote server. */

import { type Command, Option } from 'commander';
import { z } from 'zod';
import { SEVERITIES } from '../../model/rules.ts';
import { surfaceLabel } from '../../model/steps.ts';
import { LIST_STATES } from '../../model/triage.ts';
import { paint } from '../../terminal/paint.ts';
import { plain } from '../../terminal/printable.ts';
import { answer, type OutputOptions, shownTime } from '../answer.ts';
import { type PlaceOptions, serverOption } from '../remote/place.ts';
import { parts, withReader } from '../remote/reader.ts';
import { nextPage } from './finding-commands.ts';

interface ListOptions extends OutputOptions, PlaceOptions {
  readonly severity?: string;
  readonly rule?: string;
  readonly agent?: string;
  readonly service?: string;
  readonly user?: string;
  readonly session?: string;
  readonly state?: string;
  readonly assignee?: string;
  readonly since?: string;
  readonly until?: string;
  readonly limit?: string;
  readonly cursor?: string;
}

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
  const { rule, user, session, severity, agent, service, state, assignee } = options;
  const { since, until, limit, cursor } = options;
  await withReader(options, async (reader) => {
    const body = await reader.list('incidents', {
      severity,
      rule_id: rule,
      agent,
      service,
      user_id: user,
      session_id: session,
      state,
      assignee,
      since,
      until,
      limit,
      cursor,
    });
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
  incidents
    .command('list')
    .description('list incidents with their chain and rank, those that deserve a look first on top')
    .addOption(new Option('--severity <severity>').choices(SEVERITIES))
    .option('--rule <id>', 'only with findings of this rule, for example ATR-2026-00001')
    .option('--agent <text>', 'only of agents whose name contains this text')
    .option('--service <text>', 'only of services whose name contains this text')
    .option('--user <text>', 'only of users whose name contains this text')
    .option('--session <text>', 'only of sessions whose id contains this text')
    .addOption(
      new Option('--state <state>', 'with findings in it; default open').choices(LIST_STATES),
    )
    .option('--assignee <email>', 'only with findings assigned to this user; me, none')
    .option('--since <time>', 'stored since: 24h, 7d, or an ISO 8601 date, or date and time')
    .option('--until <time>', 'stored before this time, as --since')
    .option('--limit <n>', 'incidents on a page, 1 to 100')
    .option('--cursor <cursor>', 'continue after the previous page')
    .option('--workspace <slug>', 'workspace; can be omitted if there is only one')
    .addOption(serverOption())
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  sluice incidents list --since 24h')
    .action(list);
}
