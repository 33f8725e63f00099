/** `sluice exceptions list`: which findings are expected, locally or on a remote server. */

import type { Command } from 'commander';
import type { z } from 'zod';
import { exceptionList } from '../../http/api/exceptions/exception-routes.ts';
import { plain } from '../../terminal/printable.ts';
import { answer, shownTime } from '../answer.ts';
import { type QueryOptions, queryOf, withPlaces } from '../command.ts';
import { parts, withPlace } from '../remote/calls.ts';
import { renderTable } from '../table.ts';

type ExceptionBody = z.infer<typeof exceptionList>['exceptions'][number];

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
  return `${word} ${shownTime(at)}`;
}

async function listExceptions(options: QueryOptions): Promise<void> {
  await withPlace(options, async ({ call }) => {
    const query = queryOf(options, { rule: 'rule_id' });
    const body = await call('/exceptions', { query });
    answer(options, body, () => {
      const { exceptions } = parts(exceptionList, body);
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
  withPlaces(
    exceptions
      .command('list')
      .description('list exceptions, active ones first')
      .option('--rule <id>', 'only of this rule, for example ATR-2026-00001')
      .option('--active', 'only exceptions that have neither ended nor expired'),
    'exceptions list --active',
  ).action(listExceptions);
}
