/** What people see in a terminal: columns, cutting, alignment. */
import { expect, test } from 'vitest';
import { renderTable, type TableColumn } from '../../src/cli/answer.ts';

type Row = readonly [id: string, name: string, kind: string];

const columns: TableColumn<Row>[] = [
  { title: 'ID', align: 'right', cell: ([id]) => id },
  { title: 'NAME', shrinks: true, cell: ([, name]) => name },
  { title: 'KIND', cell: ([, , kind]) => kind },
];

test('columns are as wide as their longest cell, without trailing blanks', () => {
  const rows: Row[] = [
    ['1', 'collector', 'agent'],
    ['12', 'x', 'workspace'],
  ];
  expect(renderTable(rows, columns, 80)).toBe(
    ['ID  NAME       KIND', ' 1  collector  agent', '12  x          workspace'].join('\n'),
  );
});

test('the column that shrinks gives up its width, and says that it was cut', () => {
  const rows: Row[] = [['1', 'a very long name that does not fit', 'agent']];
  const shown = renderTable(rows, columns, 30);
  expect(shown.split('\n')[1]).toBe(' 1  a very long name t…  agent');
  for (const line of shown.split('\n')) expect(line.length).toBeLessThanOrEqual(30);
});

test('it never shrinks below a readable width, however narrow the terminal', () => {
  const shown = renderTable([['1', 'abcdefghijklmnopqrstuvwxyz', 'agent']], columns, 5);
  expect(shown.split('\n')[1]).toBe(' 1  abcdefghijk…  agent');
});

test('line breaks become spaces and colour codes take no width', () => {
  const rows: Row[] = [['1', 'two\n  lines', '\u001b[32magent\u001b[39m']];
  expect(renderTable(rows, columns, 80)).toBe(
    ['ID  NAME       KIND', ' 1  two lines  \u001b[32magent\u001b[39m'].join('\n'),
  );
});

test('characters outside the basic plane are not cut in half', () => {
  const shown = renderTable(
    ['😀'.repeat(20)],
    [{ title: 'T', shrinks: true, cell: (text) => text }],
    12,
  );
  expect(shown.split('\n')[1]).toBe(`${'😀'.repeat(11)}…`);
});

test('a table without rows is its head', () => {
  expect(renderTable([], columns, 80)).toBe('ID  NAME  KIND');
});
