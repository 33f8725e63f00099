/**
 * docs/bounds.md names every bound of the program with its constants. The values in the page are
 * those of the constants: `vitest -u` writes them, and fails without it when they differ.
 *
 * The k-th quantity of a row's second column belongs to the k-th constant of its last column. A
 * value without a constant is written as a word.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, posix } from 'node:path';
import { describe, expect, test } from 'vitest';

const ROOT = new URL('../../', import.meta.url);
const PAGE = 'docs/bounds.md';
const MAP = 'ARCHITECTURE.md';

const read = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8');
const SOURCES = new Map(
  readdirSync(new URL('src/', ROOT), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => `src/${path.replaceAll('\\', '/')}`)
    .map((path) => [path, read(path)] as const),
);

// ── Constants, from source text ──────────────────────────────────────────────────────────────

const CONSTANT_LINE = /^(?:export )?const (\w+)(?:: [^=]+)? =\s*([^;]*);/gm;
/** File → its constants, each with the expression that it is initialised with. */
const INITIALIZERS = new Map(
  [...SOURCES].map(([path, text]) => {
    const found = [...text.matchAll(CONSTANT_LINE)];
    return [path, new Map(found.map(([, name = '', value = '']) => [name, value]))] as const;
  }),
);

/** The expression that a constant of a file is initialised with; null without such a constant. */
function initializerOf(path: string, name: string): string | null {
  return INITIALIZERS.get(path)?.get(name) ?? null;
}

/** The file from which a file imports a name. */
function importedFrom(path: string, name: string): string | null {
  for (const [, names = '', specifier = ''] of (SOURCES.get(path) ?? '').matchAll(
    /^import \{([^}]*)\} from '(\.[^']*)';/gm,
  )) {
    if (names.split(',').some((one) => one.trim() === name)) {
      return posix.normalize(`${dirname(path)}/${specifier}`);
    }
  }
  return null;
}

/** The values of an arithmetic expression of numbers and constants; two for a choice. */
function valuesOf(path: string, expression: string): number[] {
  const choice = /\?\s*([\d_]+)\s*:\s*([\d_]+)$/.exec(expression);
  if (choice !== null) return choice.slice(1).map((one) => Number(one.replaceAll('_', '')));
  const numbers = expression
    .replace(/\b[A-Z][A-Z0-9_]*\b/g, (name) => String(constantOf(path, name)[0]))
    .replace(/(?<=[\d_])n\b|_/g, '');
  if (!/^[\d\s.e()*/+-]+$/.test(numbers)) throw new Error(`not a number: ${expression} in ${path}`);
  return [Number(new Function(`return ${numbers}`)())];
}

/** @param name of a constant, or of a member of one: `LIMITS.bytesMax` */
function constantOf(path: string, name: string): number[] {
  const [own = '', member] = name.split('.');
  const expression = initializerOf(path, own);
  if (expression === null) {
    const origin = importedFrom(path, own);
    if (origin === null) throw new Error(`${path} has no constant ${own}`);
    return constantOf(origin, name);
  }
  if (member === undefined) return valuesOf(path, expression);
  const value = new RegExp(`\\b${member}: ([^,}]+)`).exec(expression)?.[1];
  if (value === undefined) throw new Error(`${own} of ${path} has no member ${member}`);
  return valuesOf(path, value.trim());
}

// ── Values as text ───────────────────────────────────────────────────────────────────────────

const number = (value: number): string => value.toLocaleString('en', { maximumFractionDigits: 3 });

/** The largest unit of which the value is a whole number. */
function inUnits(value: number, units: readonly (readonly [size: number, name: string])[]): string {
  const [size, name] = units.find(([one]) => value >= one && value % one === 0) ?? [1, ''];
  return `${number(value / size)} ${name}`.trim();
}

function durationOf(ms: number): string {
  if (ms >= 1000 && ms % 60_000 !== 0) return `${number(ms / 1000)} s`;
  return inUnits(ms, [
    [86_400_000, 'days'],
    [3_600_000, 'h'],
    [60_000, 'min'],
    [1, 'ms'],
  ]);
}

const BINARY = [
  [2 ** 30, 'Gi'],
  [2 ** 20, 'Mi'],
  [2 ** 16, 'Ki'],
] as const;

function bytesOf(bytes: number): string {
  return bytes < 1024
    ? `${bytes} bytes`
    : inUnits(bytes, [
        [2 ** 30, 'GiB'],
        [2 ** 20, 'MiB'],
        [2 ** 10, 'KiB'],
      ]);
}

/** A value in the unit that its constant is named after. */
function format(name: string, value: number): string {
  const words = (name.split('.').at(-1) ?? '')
    .replace(/(?<=[a-z])(?=[A-Z])/g, '_')
    .toUpperCase()
    .split('_');
  const has = (...units: string[]): boolean => units.some((unit) => words.includes(unit));
  if (has('MS')) return durationOf(value);
  if (has('NANOS')) return durationOf(value / 1e6);
  if (has('SECONDS')) return durationOf(value * 1000);
  if (has('HOURS')) return durationOf(value * 3_600_000);
  if (has('DAYS')) return durationOf(value * 86_400_000);
  if (has('MIB', 'MB')) return bytesOf(value * 2 ** 20);
  if (has('BYTES')) return bytesOf(value);
  if (has('SHARE', 'PART')) return `${number(value * 100)} %`;
  if (has('CHARACTERS', 'UNITS') && value % 2 ** 16 === 0) {
    const [size, prefix] = BINARY.find(([one]) => value >= one && value % one === 0) ?? [1, ''];
    return `${number((value / size) * (prefix === 'Ki' ? 64 : 1))} ${prefix}`;
  }
  return number(value);
}

// ── The page ─────────────────────────────────────────────────────────────────────────────────

const QUANTITY =
  /`[^`]*`|(?<![\w/-])\d+(?:,\d{3})*(?:\.\d+)?(?: (?:ms|s|min|h|days|GiB|MiB|KiB|bytes|Mi|Ki|%)(?!\w))?/g;
const CONSTANT = /\[`([\w.]+)`\]\(\.\.\/(src\/[^)]+)\)/g;

/** The file of a constant: the one that the page names, else one of its name, else any. */
function findFile(path: string, name: string): string {
  const own = name.split('.')[0] ?? '';
  const defining = [...SOURCES.keys()].filter((one) => initializerOf(one, own) !== null);
  const named = defining.filter((one) => basename(one) === basename(path));
  const [file, ...others] = defining.includes(path) ? [path] : named.length > 0 ? named : defining;
  if (file === undefined || others.length > 0)
    throw new Error(`${PAGE}: where is ${name}? ${path}`);
  return file;
}

/** A row with the values and the files of its constants. */
function fillRow(row: string): string {
  const cells = row.split(' | ');
  const [what = '', bound = '', full = '', constants = ''] = cells;
  if (cells.length !== 4) throw new Error(`${PAGE}: not four cells: ${row}`);
  const values: string[] = [];
  const links = constants.replace(CONSTANT, (_all, name: string, path: string) => {
    const file = findFile(path, name);
    values.push(...constantOf(file, name).map((value) => format(name, value)));
    return `[\`${name}\`](../${file})`;
  });
  const count = values.length;
  const filled = bound.replace(QUANTITY, (quantity) =>
    quantity.startsWith('`') ? quantity : (values.shift() ?? '?'),
  );
  if (values.length > 0 || filled.includes('?')) {
    throw new Error(`${PAGE}: ${count} values for "${bound}"`);
  }
  return [what, filled, full, links].join(' | ');
}

/** @throws with the faults of all rows */
function fill(page: string): string {
  const faults: string[] = [];
  const filled = page.replace(/^\| (?!what \|).*$/gm, (row) => {
    try {
      return fillRow(row);
    } catch (error) {
      faults.push(error instanceof Error ? error.message : String(error));
      return row;
    }
  });
  if (faults.length > 0) throw new Error(faults.join('\n'));
  return filled;
}

test('docs/bounds.md has the values of the constants', async () => {
  await expect(fill(read(PAGE))).toMatchFileSnapshot(new URL(PAGE, ROOT).pathname);
});

test('ARCHITECTURE.md leaves bounds to that page', () => {
  expect(read(MAP).includes(`](${PAGE})`)).toBe(true);
});

describe('a row', () => {
  const link = (name: string, path: string) => `[\`${name}\`](../${path}) |`;
  const row = (bound: string, constants: string) => `| a | ${bound} | b | ${constants}`;
  const PIECE = link('PIECE_BYTES', 'src/otlp/pieces.ts');

  test('gets the present value and unit, wherever the file has moved', () => {
    const moved = link('PIECE_BYTES', 'src/otlp/old/pieces.ts');
    expect(fillRow(row('about 7 s', moved))).toBe(row('about 128 KiB', PIECE));
  });

  test('fails without its constant, and when quantities and constants differ in number', () => {
    expect(() => fillRow(row('7', link('NO_SUCH_CONSTANT', 'src/otlp/pieces.ts')))).toThrow(
      'NO_SUCH_CONSTANT',
    );
    expect(() => fillRow(row('7 and 8', PIECE))).toThrow('1 values');
    expect(() => fillRow(row('one', PIECE))).toThrow('1 values');
    expect(fillRow(row('`A_2` and 1', PIECE))).toBe(row('`A_2` and 128 KiB', PIECE));
  });

  test.each([
    ['DEADLINE_MS', 30_000, '30 s'],
    ['DEADLINE_MS', 2500, '2.5 s'],
    ['idleMs', 60_000, '1 min'],
    ['MS_MAX', 900_000, '15 min'],
    ['WAIT_MS', 250, '250 ms'],
    ['LIFE_HOURS', 168, '7 days'],
    ['IDLE_HOURS', 12, '12 h'],
    ['LEASE_SECONDS', 300, '5 min'],
    ['SPAN_NANOS', 600e9, '10 min'],
    ['BYTES_MAX', 48 * 1024, '48 KiB'],
    ['PATH_BYTES_MAX', 107, '107 bytes'],
    ['heapMib', 2048, '2 GiB'],
    ['CHARACTERS_MAX', 512 * 1024, '512 Ki'],
    ['UNITS_MAX', 4 * 1024 * 1024, '4 Mi'],
    ['UNITS_MAX', 4000, '4,000'],
    ['SHARE', 0.25, '25 %'],
    ['OWN_MAX', 1_000_000, '1,000,000'],
  ])('%s of %d reads %s', (name, value, text) => {
    expect(format(name, value)).toBe(text);
  });
});
