/** Several statements at once: all of them or none, and what is left of the connection. */
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Connection } from '../../src/db/database.ts';
import {
  arrayLiteral,
  type Cell,
  type Copy,
  runPipeline,
  type Statement,
} from '../../src/db/pipeline.ts';
import { casesOf } from '../support/cases.ts';
import { type MigratedDatabase, openMigratedDatabase } from '../support/database.ts';

let scratch: MigratedDatabase;
beforeAll(async () => {
  scratch = await openMigratedDatabase();
  await scratch.database.query('CREATE TABLE lines (number integer PRIMARY KEY, line text)');
});
afterAll(() => scratch.close());
beforeEach(async () => {
  await scratch.database.query('TRUNCATE lines');
});

async function onConnection(work: (connection: Connection) => Promise<void>): Promise<void> {
  const connection = await scratch.database.connect();
  // Reported by the query as well; without a listener it would end the process.
  connection.on('error', () => {});
  try {
    await work(connection);
  } finally {
    // Not to be used again: one of the tests has it ended.
    connection.release(true);
  }
}

const stored = async (): Promise<unknown[]> =>
  (await scratch.rows('SELECT number FROM lines ORDER BY number')).map(({ number }) => number);
const line = (number: number, text = 'x'): Buffer => Buffer.from(`${number}\t${text}\n`);
const copy = (...pieces: Buffer[]): Copy => ({ copy: 'COPY lines FROM STDIN', pieces });
const insert = (...numbers: number[]): Statement => ({
  text: 'INSERT INTO lines SELECT number, NULL FROM unnest($1::int[]) AS number',
  columns: [numbers],
});
const rename = (text: string): Statement => ({
  text: 'UPDATE lines SET line = ($1::text[])[1] || line',
  columns: [[text]],
});

describe('COPY', () => {
  test('stores every piece, wherever they are cut', async () => {
    const text = Array.from({ length: 100 }, (_, number) => String(line(number))).join('');
    const pieces = text.match(/[\s\S]{1,7}/g) ?? [];
    const whole = copy(...pieces.map((piece) => Buffer.from(piece)));
    await onConnection((connection) => runPipeline(connection, [whole]));
    const rows = await scratch.rows('SELECT number, line FROM lines ORDER BY number');
    expect(rows).toEqual(Array.from({ length: 100 }, (_, number) => ({ number, line: 'x' })));
  });

  test('stores far more than a socket takes at a time, in as many pieces as a batch has', async () => {
    const pieces = Array.from({ length: 3000 }, (_, number) => line(number, 'y'.repeat(10_000)));
    await onConnection((connection) => runPipeline(connection, [copy(...pieces), insert(3000)]));
    expect(await stored()).toHaveLength(3001);
  });

  test('stores nothing of no pieces', async () => {
    await onConnection((connection) => runPipeline(connection, [copy()]));
    expect(await stored()).toEqual([]);
  });
});

describe('steps', () => {
  test('run in their order, and again on the same connection', async () => {
    await onConnection(async (connection) => {
      await runPipeline(connection, [insert(1, 2), copy(line(3)), rename('a')]);
      await runPipeline(connection, [copy(line(4)), rename('b'), insert(5)]);
      await runPipeline(connection, []);
    });
    const rows = await scratch.rows('SELECT number, line FROM lines ORDER BY number');
    expect(rows.map(({ number: n, line: l }) => [n, l])).toEqual([
      [1, null],
      [2, null],
      [3, 'bax'],
      [4, 'bx'],
      [5, null],
    ]);
  });

  test('are one transaction: nothing is seen before all of it is', async () => {
    await onConnection(async (connection) => {
      const { rows: own } = await connection.query<{ pid: number }>('SELECT pg_backend_pid() pid');
      const seen: unknown[][] = [];
      const other = await scratch.database.connect();
      try {
        await other.query('BEGIN');
        await other.query('INSERT INTO lines VALUES (7)');
        const pending = runPipeline(connection, [insert(1), copy(line(7)), insert(2)]);
        // The second step waits for the other transaction's row; the first one is done by then.
        await expect
          .poll(async () => {
            seen.push(await stored());
            const waiting =
              'SELECT count(*)::int AS n FROM pg_locks WHERE NOT granted AND pid = $1';
            return (await scratch.rows(waiting, [own[0]?.pid]))[0]?.n;
          })
          .toBe(1);
        await other.query('ROLLBACK');
        await pending;
      } finally {
        other.release();
      }
      for (const rows of seen) expect(rows).toEqual([]);
    });
    expect(await stored()).toEqual([1, 2, 7]);
  });
});

describe('statements', () => {
  const kept = async (connection: Connection): Promise<string[]> => {
    const { rows } = await connection.query('SELECT statement FROM pg_prepared_statements');
    return rows.map(({ statement }) => String(statement).split(' ', 1)[0] ?? '').sort();
  };

  test('are prepared once on a connection, BEGIN and COPY too', async () => {
    await onConnection(async (connection) => {
      for (const number of [1, 3, 5, 7]) {
        const settings = { lock_timeout: '2000' };
        await runPipeline(connection, [copy(line(number)), insert(number + 1)], { settings });
      }
      expect(await kept(connection)).toEqual(['BEGIN', 'COPY', 'INSERT', 'SELECT']);
    });
    expect(await stored()).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });

  test('are still right when their table has changed', async () => {
    await onConnection(async (connection) => {
      for (const number of [1, 3]) await runPipeline(connection, [insert(number)]);
      await scratch.database.query(`ALTER TABLE lines ADD COLUMN later text DEFAULT 'x'`);
      try {
        const named: Copy = { ...copy(line(6)), copy: 'COPY lines (number, line) FROM STDIN' };
        await runPipeline(connection, [named]);
        await scratch.database.query('ALTER TABLE lines DROP COLUMN later');
        await runPipeline(connection, [{ ...named, pieces: [line(7)] }, insert(8)]);
      } finally {
        await scratch.database.query('ALTER TABLE lines DROP COLUMN IF EXISTS later');
      }
    });
    expect(await stored()).toEqual([1, 3, 6, 7, 8]);
  });

  test('of many texts are stored, and a connection keeps fifty', async () => {
    const other = (number: number): Statement => ({
      text: `INSERT INTO lines SELECT number, '${number}' FROM unnest($1::int[]) AS number`,
      columns: [[number]],
    });
    const numbers = Array.from({ length: 70 }, (_, number) => number);
    await onConnection(async (connection) => {
      await runPipeline(connection, []);
      await runPipeline(connection, numbers.map(other));
      await runPipeline(connection, [insert(70), other(71)]);
      expect(await kept(connection)).toHaveLength(50);
    });
    expect(await stored()).toHaveLength(72);
  });
});

/** The number of the event loop's round; counts until it is stopped. */
function countRounds(): { readonly now: () => number; readonly stop: () => void } {
  let rounds = 0;
  let timer = setImmediate(function next() {
    rounds += 1;
    timer = setImmediate(next);
  });
  return { now: () => rounds, stop: () => clearImmediate(timer) };
}

const WIDE = 'x'.repeat(300_000);

/**
 * Inserts lines of three hundred thousand characters, each made as it is sent; notes in which
 * round.
 */
function* wideSteps(count: number, note: (number: number) => void): Generator<Statement, void> {
  for (let number = 0; number < count; number += 1) {
    note(number);
    yield {
      text: 'INSERT INTO lines SELECT * FROM unnest($1::int[], $2::text[])',
      columns: [[number], [WIDE]],
    };
  }
}

describe('many parameters', () => {
  test('are made in several turns of the event loop, and stored together', async () => {
    const rounds = countRounds();
    const made: number[] = [];
    await onConnection(async (connection) => {
      await runPipeline(connection, [
        ...[insert(100), copy(line(101))],
        ...wideSteps(2, () => undefined),
      ]);
      await scratch.database.query('TRUNCATE lines');
      await runPipeline(
        connection,
        wideSteps(20, () => made.push(rounds.now())),
      );
    });
    rounds.stop();
    expect(await stored()).toHaveLength(20);
    const most = Math.max(...made.map((round) => made.filter((other) => other === round).length));
    expect(most).toBe(2);
  });

  test('are not made any more once a step has failed', async () => {
    await onConnection(async (connection) => {
      let made = 0;
      const steps = function* (): Generator<Statement, void> {
        yield insert(1, 1);
        // Each turn waits for the server, so that its answer is surely there before the last one.
        yield* wideSteps(100_000, (number) => {
          made = number;
        });
      };
      await expect(runPipeline(connection, steps())).rejects.toMatchObject({ code: '23505' });
      await connection.query('ROLLBACK');
      expect(made).toBeLessThan(100_000 - 1);
      await runPipeline(connection, [insert(7)]);
    });
    expect(await stored()).toEqual([7]);
  });

  test('that cannot be made in a later turn end the connection', async () => {
    await onConnection(async (connection) => {
      const steps = function* (): Generator<Statement, void> {
        yield* wideSteps(5, () => undefined);
        throw new Error('not to be made');
      };
      await expect(runPipeline(connection, steps())).rejects.toThrow('not to be made');
      await expect(connection.query('SELECT 1')).rejects.toThrow();
    });
    expect(await stored()).toEqual([]);
  });
});

describe('a failure', () => {
  test.each<[string, string, (Statement | Copy)[]]>([
    ['rows that COPY refuses', '22P02', [insert(1), copy(Buffer.from('none\tx\n'), line(2))]],
    ['a row that is there already', '23505', [insert(1), copy(line(1)), insert(2)]],
    ['a COPY of no table', '42P01', [insert(1), { copy: 'COPY nowhere FROM STDIN', pieces: [] }]],
    ['a statement of no table', '42P01', [{ text: 'TABLE nowhere', columns: [] }]],
    ['the last statement', '23505', [copy(line(1)), insert(2), insert(2)]],
  ])('of %s undoes all and leaves the connection fit', async (_what, code, steps) => {
    await onConnection(async (connection) => {
      await expect(runPipeline(connection, steps)).rejects.toMatchObject({ code });
      await connection.query('ROLLBACK');
      expect(await stored()).toEqual([]);
      await runPipeline(connection, [insert(3), copy(line(4))]);
      await expect(runPipeline(connection, steps)).rejects.toMatchObject({ code });
      await connection.query('ROLLBACK');
      await runPipeline(connection, [insert(5), copy(line(6))]);
    });
    expect(await stored()).toEqual([3, 4, 5, 6]);
  });

  test('with megabytes still to come leaves the connection fit', async () => {
    const rest = Array.from({ length: 500 }, (_, number) => line(number, 'z'.repeat(20_000)));
    await onConnection(async (connection) => {
      const failed = runPipeline(connection, [copy(Buffer.from('none\tx\n'), ...rest), insert(1)]);
      await expect(failed).rejects.toMatchObject({ code: '22P02' });
      await connection.query('ROLLBACK');
      await runPipeline(connection, [insert(1)]);
    });
    expect(await stored()).toEqual([1]);
  });

  test('of the connection, in the middle, rejects', async () => {
    await onConnection(async (connection) => {
      const { rows: own } = await connection.query<{ pid: number }>('SELECT pg_backend_pid() pid');
      // The table is locked by somebody else, so that the COPY is surely under way when it is ended.
      const other = await scratch.database.connect();
      try {
        await other.query('BEGIN');
        await other.query('LOCK TABLE lines');
        const failed = runPipeline(connection, [copy(line(1)), insert(2)]);
        const expectation = expect(failed).rejects.toThrow();
        await scratch.database.query('SELECT pg_terminate_backend($1)', [own[0]?.pid]);
        await expectation;
        await other.query('ROLLBACK');
      } finally {
        other.release();
      }
    });
    expect(await stored()).toEqual([]);
  });

  test('to write all of it ends the connection: the rest could be committed by what comes next', async () => {
    await onConnection(async (connection) => {
      const unfit = { text: 'SELECT $1', columns: [null] } as unknown as Statement;
      await expect(runPipeline(connection, [insert(1), unfit])).rejects.toThrow(TypeError);
      await expect(connection.query('SELECT 1')).rejects.toThrow();
    });
    expect(await stored()).toEqual([]);
  });
});

test('cells come back as they were, whatever they contain', async () => {
  const texts = [
    '',
    'NULL',
    'null',
    '"',
    '\\',
    '{}',
    ',',
    ' a ',
    '\n',
    "'",
    'é\u{1f600}',
    '{"a",b}',
  ];
  // NUL cannot be stored, and half a character is none.
  const text = fc.string({ unit: 'grapheme' }).filter((one) => !one.includes('\0'));
  const cell: fc.Arbitrary<Cell> = fc.option(fc.oneof(fc.constantFrom(...texts), text));
  await fc.assert(
    fc.asyncProperty(fc.array(cell, { maxLength: 20 }), async (cells) => {
      const [row] = await scratch.rows('SELECT $1::text[] AS cells', [arrayLiteral(cells)]);
      expect(row?.cells).toEqual(cells);
    }),
    { numRuns: casesOf(300) },
  );
  const others = await scratch.rows('SELECT $1::int[] AS numbers, $2::boolean[] AS flags', [
    arrayLiteral([1, null, -2]),
    arrayLiteral([true, null, false]),
  ]);
  expect(others).toEqual([{ numbers: [1, null, -2], flags: [true, null, false] }]);
});
