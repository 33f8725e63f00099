/** `sluice exceptions list`: which findings are expected, locally or on a remote server. */

import type { Command } from 'commander';
import { z } from 'zod';
import { plain } from '../../terminal/printable.ts';
import { answer, type OutputOptions, shownTime } from '../answer.ts';
import { type PlaceOptions, serverOption } from '../remote/place.ts';
import { parts, withReader } from '../remote/reader.ts';
import { renderTable } from '../table.ts';

interface ListOptions extends OutputOptions, PlaceOptions {
  readonly rule?: string;
  readonly active?: boolean;
}

const list = z.object({
  exceptions: z.array(
    z.object({
      rule_id: z.string(),
      text: z.boolean(),
      tool: z.string().nullable(),
      agent: z.string().nullable(),
      service: z.string().nullable(),
      reason: z.string(),
      created_by: z.string(),
      expires_at: z.string(),
      ended_at: z.string().nullable(),
      is_active: z.boolean(),
      hidden: z.object({ count: z.number(), is_exact: z.boolean() }),
    }),
  ),
});
type ExceptionBody = z.infer<typeof list>['exceptions'][number];

function coverOf({ text, ...names }: ExceptionBody): string {
  const also = (['tool', 'agent', 'service'] as const).flatMap((part) => {
    const name = names[part];
    return name === null ? [] : [name === '' ? `no ${part}` : `${part} ${name}`];
  });
  return [...(text ? ['matched text'] : []), ...also].join(', ');
}

function statusOf({
  is_active: active,
  ended_at: endedAt,
  expires_at: expiresAt,
}: ExceptionBody): string {
  const [word, at] =
    endedAt !== null ? ['ended', endedAt] : [active ? 'until' : 'expired', expiresAt];
  return `${word} ${shownTime(new Date(at))}`;
}

async function listExceptions(options: ListOptions): Promise<void> {
  await withReader(options, async (reader) => {
    const active = options.active === true ? 'true' : undefined;
    const body = await reader.list('exceptions', { rule_id: options.rule, active });
    answer(options, body, () => {
      const { exceptions } = parts(list, body);
      if (exceptions.length === 0) return 'No exceptions.';
      return renderTable(exceptions, [
        { title: 'RULE', cell: (one) => plain(one.rule_id) },
        {
          title: 'FOR',
          cell: (one) => plain(coverOf(one)),
        },
        {
          title: 'HIDES',
          cell: ({ hidden }) => `${hidden.is_exact ? '' : 'at least '}${hidden.count}`,
        },
        { title: 'STATUS', cell: statusOf },
        { title: 'CREATED BY', cell: (one) => plain(one.created_by) },
        { title: 'REASON', shrinks: true, cell: (one) => plain(one.reason) },
      ]);
    });
  });
}

export function addExceptionCommands(program: Command): void {
  const exceptions = program
    .command('exceptions')
    .description('exceptions: findings that are expected');
  exceptions
    .command('list')
    .description('list exceptions, active ones first')
    .option('--rule <id>', 'only of this rule, for example ATR-2026-00001')
    .option('--active', 'only exceptions that have neither ended nor expired')
    .option('--workspace <slug>', 'workspace; can be omitted if there is only one')
    .addOption(serverOption())
    .option('--json', 'print JSON')
    .addHelpText('after', '\nExample:\n  sluice exceptions list --active')
    .action(listExceptions);
}
