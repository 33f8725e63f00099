/**
 * Every command line of a code block in README and docs is run as it is printed, by a shell, beside a
 * running server; so is every complete command that a sentence names. What cannot run here is listed
 * with its reason.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { corpusPackageDir } from '../../src/main/corpus-location.ts';
import { CATALOGUE_FOLDER } from '../support/kept-catalogue.ts';
import { type Gateway, openGateway } from './gateway.ts';

const ROOT = join(import.meta.dirname, '../..');
const PAGES = [
  'README.md',
  'corpus/README.md',
  ...readdirSync(join(ROOT, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];
/** Programs whose lines are commands; other lines of a block are settings, output or files. */
const PROGRAM = /(?:^|[|&;(] ?)(?:npx |source <\()?(?:sluice|npm|curl|node) /;

/** Lines that are not run here, by how they begin. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  'npm ci && npm start': 'the installation itself; start.test.ts starts what it builds',
  'npm ci && npm test': 'the suite would run itself',
  'npm run demo': 'demo.test.ts',
  'npm run bench': 'minutes; its options are tested in test/bench',
  'npm run test:clients': 'minutes, and two gigabytes of packages; test/clients',
  'npm run chaos': 'minutes; its parts are tested in test/chaos',
  'npm run ha': 'minutes, and packages that nothing else needs',
  'npm run test:mutants': 'hours; test/mutants',
  'npm run build': 'in a checkout; every test runs what it builds',
  'node --inspect': 'runs until it is stopped, in a checkout',
  'node --cpu-prof': 'runs until it is stopped, in a checkout',
  'sluice login': 'needs a person who confirms; cli-login.test.ts',
  'sluice relay': 'runs until it is stopped, and needs a server elsewhere; relay.test.ts',
  'sluice replay': 'needs a downloaded run, and an agent key; replay.test.ts',
  'sluice completion zsh': 'a path of zsh; cli-completion.test.ts',
  'sluice alerts test': 'needs a destination; cli-login.test.ts',
  'sluice alerts send-again': 'needs a message that was not delivered; cli-login.test.ts',
  'sluice evidence verify': 'needs a package and its key; evidence.test.ts',
  'curl -si https://': 'needs a reverse proxy with a certificate',
  'head -c 30000000': 'needs a reverse proxy with a certificate',
};
/** A rule that matched is exit code 1 (docs/cli.md). */
const FOUND = 1;

interface Line {
  readonly page: string;
  readonly line: string;
}

function blockLines(page: string): Line[] {
  const text = readFileSync(join(ROOT, page), 'utf8');
  const blocks = text.matchAll(/^```\w*\n([\s\S]*?)^```/gm);
  const lines = [...blocks].flatMap(([, block = '']) => block.replaceAll('\\\n', ' ').split('\n'));
  return lines.filter((line) => PROGRAM.test(line)).map((line) => ({ page, line: line.trim() }));
}

const LINES = PAGES.flatMap(blockLines);
const elsewhere = ({ line }: Line): string | undefined =>
  Object.keys(ELSEWHERE).find((start) => line.startsWith(start));
const RUN = LINES.filter((line) => elsewhere(line) === undefined);
/** Of sentences, in the order of the pages. */
const NAMED = ['sluice workspace plan team', 'sluice workspace redact on', 'sluice rules list'];

let gateway: Gateway;
let folder: string;

beforeAll(async () => {
  gateway = await openGateway();
  folder = mkdtempSync(join(tmpdir(), 'sluice-documented-'));
  const bin = join(folder, 'bin');
  for (const made of ['bin', 'exports/day', 'prompts', '.config/fish/completions']) {
    mkdirSync(join(folder, made), { recursive: true });
  }
  const shim = (name: string, script: string): void => {
    writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(bin, name), 0o755);
  };
  shim('sluice', `exec "${process.execPath}" "${join(ROOT, 'bin/sluice.js')}" "$@"`);
  shim('npx', 'exec "$@"');
  // Some rules are enough: all of them take seconds to classify.
  for (const part of ['package.json', 'rules/data-poisoning']) {
    const copy = join(folder, 'agent-threat-rules-5.0.0', part);
    cpSync(join(corpusPackageDir(), part), copy, { recursive: true });
  }
  writeFileSync(join(folder, 'prompts', 'one.txt'), 'What is the weather in Bern?');
  writeFileSync(join(folder, 'exports/day', 'one.json'), '{"resourceSpans":[]}');
});
afterAll(async () => {
  await gateway.close();
  rmSync(folder, { recursive: true, force: true });
});

async function run(line: string): Promise<{ code: number | null; output: string }> {
  const script = line.replaceAll('http://localhost:8080', gateway.server.baseUrl);
  const child = spawn('bash', ['-c', script.replaceAll('curl ', 'curl --fail -sS ')], {
    cwd: folder,
    env: {
      PATH: `${join(folder, 'bin')}:${process.env.PATH}`,
      HOME: folder,
      DATABASE_URL: gateway.databaseUrl,
      DATA_DIR: CATALOGUE_FOLDER,
      WORKSPACE_KEY: gateway.keys.workspace,
    },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const [code] = await once(child, 'close');
  return { code: code as number | null, output };
}

test('there are lines to run, and every reason is for some line', () => {
  expect(RUN.length).toBeGreaterThan(6);
  const used = new Set(LINES.flatMap((line) => elsewhere(line) ?? []));
  expect(used).toEqual(new Set(Object.keys(ELSEWHERE)));
});

test.each(RUN)('$page: $line', async ({ line }) => {
  const { code, output } = await run(line);
  const finds = line.includes('Ignore all previous instructions');
  expect(code, output).toBe(finds ? FOUND : 0);
});

test.each(NAMED)('%s, as a page names it', async (line) => {
  expect(PAGES.some((page) => readFileSync(join(ROOT, page), 'utf8').includes(line))).toBe(true);
  const { code, output } = await run(line);
  expect(code, output).toBe(0);
});
