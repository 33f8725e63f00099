/**
 * The GitHub Action and the pre-commit hook, read as YAML; the action's steps run in a shell as GitHub runs
 * them, with the built program, except for the installation.
 */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { load } from 'js-yaml';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { ATTACK } from '../support/rows.ts';
import { ROOT } from '../support/server.ts';

interface Step {
  readonly name: string;
  readonly id?: string;
  readonly shell: string;
  readonly run: string;
  readonly env?: Readonly<Record<string, string>>;
}
interface Action {
  readonly inputs: Readonly<
    Record<string, { readonly description: string; readonly default: string }>
  >;
  readonly outputs: Readonly<Record<string, { readonly value: string }>>;
  readonly runs: { readonly using: string; readonly steps: readonly Step[] };
}

const FOLDER = join(ROOT, 'deploy/github-action');
const yaml = (path: string): unknown => load(readFileSync(path, 'utf8'));
const ACTION = yaml(join(FOLDER, 'action.yml')) as Action;
const INPUT = /^\$\{\{ inputs\.([a-z-]+) \}\}$/;

let repository: string;
beforeEach(() => {
  repository = mkdtempSync(join(tmpdir(), 'sluice-action-'));
});
afterEach(() => rmSync(repository, { recursive: true }));

function addFile(path: string, content: string): void {
  mkdirSync(dirname(join(repository, path)), { recursive: true });
  writeFileSync(join(repository, path), content);
}

/** Runs the scanning step in the repository, with inputs where they differ from their defaults. */
function runScan(inputs: Readonly<Record<string, string>> = {}) {
  const step = ACTION.runs.steps.find(({ id }) => id === 'scan');
  const inputOf = (expression: string): string => {
    const name = INPUT.exec(expression)?.[1] ?? '';
    return inputs[name] ?? ACTION.inputs[name]?.default ?? '';
  };
  const env = Object.entries(step?.env ?? {}).map(([name, value]) => [name, inputOf(value)]);
  const output = join(repository, '.output');
  const { status, stdout, stderr } = spawnSync(
    'bash',
    ['-eo', 'pipefail', '-c', step?.run ?? 'false'],
    {
      cwd: repository,
      encoding: 'utf8',
      env: {
        PATH: process.env.PATH,
        HOME: repository,
        GITHUB_ACTION_PATH: FOLDER,
        GITHUB_OUTPUT: output,
        ...Object.fromEntries(env),
      },
    },
  );
  const outputs = existsSync(output) ? readFileSync(output, 'utf8').trim().split('\n') : [];
  return { status, text: stdout + stderr, outputs };
}

/** The files with results. */
function filesFound(sarif = 'sluice.sarif'): string[] {
  const { runs } = JSON.parse(readFileSync(join(repository, sarif), 'utf8')) as {
    runs: {
      results: { locations: { physicalLocation: { artifactLocation: { uri: string } } }[] }[];
    }[];
  };
  const uris = runs[0]?.results.map(
    ({ locations }) => locations[0]?.physicalLocation.artifactLocation.uri ?? '',
  );
  return [...new Set(uris)].sort();
}

describe('the action', () => {
  test('is composite, and its steps name their shell and inputs that exist', () => {
    expect(ACTION.runs.using).toBe('composite');
    expect(ACTION.runs.steps.map(({ shell }) => shell)).toEqual(['bash', 'bash']);
    const used = ACTION.runs.steps.flatMap(({ env = {} }) =>
      Object.values(env).map((value) => INPUT.exec(value)?.[1]),
    );
    expect(used.sort()).toEqual(Object.keys(ACTION.inputs).sort());
    expect(ACTION.runs.steps[0]?.run).toContain('npm ci --prefix "$GITHUB_ACTION_PATH/../.."');
    expect(existsSync(join(FOLDER, '../../package-lock.json'))).toBe(true);
  });

  test('scans the usual places that exist', () => {
    addFile('CLAUDE.md', 'Write tests.');
    addFile('.mcp.json', JSON.stringify({ mcpServers: { web: { command: 'web', note: ATTACK } } }));
    addFile('skills/mail/SKILL.md', `# Mail\n\n${ATTACK}`);
    addFile('src/not-scanned.md', ATTACK);
    mkdirSync(join(repository, 'prompts'));
    const { status, outputs, text } = runScan();
    expect(status, text).toBe(1);
    expect(filesFound()).toEqual(['.mcp.json', 'skills/mail/SKILL.md']);
    expect(outputs).toEqual(['sarif-file=sluice.sarif', 'exit-code=1']);
  });

  test('scans the paths that are named, also with blanks in their names', () => {
    addFile('my texts/one.md', ATTACK);
    addFile('CLAUDE.md', ATTACK);
    const given = { paths: 'my texts\n', 'sarif-file': 'out.sarif', 'fail-on-match': 'false' };
    const { status, outputs, text } = runScan(given);
    expect(status, text).toBe(0);
    expect(filesFound('out.sarif')).toEqual(['my%20texts/one.md']);
    expect(outputs).toEqual(['sarif-file=out.sarif', 'exit-code=1']);
  });

  test('passes where nothing is found, and fails where not everything was checked', () => {
    addFile('AGENTS.md', 'Write tests.');
    expect(runScan()).toMatchObject({
      status: 0,
      outputs: expect.arrayContaining(['exit-code=0']),
    });
    expect(filesFound()).toEqual([]);
    const missing = runScan({ paths: 'missing.md', 'fail-on-match': 'false' });
    expect(missing.status).toBe(2);
  });

  test('fails in a repository without any of the places', () => {
    addFile('README.md', 'Nothing about agents.');
    const { status, outputs, text } = runScan();
    expect({ status, outputs }).toEqual({ status: 2, outputs: ['exit-code=2'] });
    expect(text).toContain('Nothing to scan');
  });
});

describe('the pre-commit hook', () => {
  const [hook] = yaml(join(ROOT, '.pre-commit-hooks.yaml')) as {
    readonly id: string;
    readonly language: string;
    readonly entry: string;
    readonly files: string;
  }[];
  /** Python's verbose form without the white space. */
  const files = new RegExp((hook?.files ?? '').replace('(?x)', '').replaceAll(/\s/g, ''));

  test('calls the command of the package', () => {
    const { bin } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    const [command = '', ...rest] = hook?.entry.split(' ') ?? [];
    expect([hook?.id, hook?.language]).toEqual(['sluice-scan', 'node']);
    writeFileSync(join(repository, 'AGENTS.md'), ATTACK);
    const args = [join(ROOT, bin[command]), ...rest, 'AGENTS.md'];
    const env = { PATH: process.env.PATH, HOME: repository };
    const scanned = spawnSync(process.execPath, args, { cwd: repository, env, encoding: 'utf8' });
    expect(scanned.status, scanned.stderr).toBe(1);
  });

  test.each([
    ['CLAUDE.md', true],
    ['docs/AGENTS.md', true],
    ['.mcp.json', true],
    ['.vscode/mcp.json', true],
    ['.claude/commands/fix.md', true],
    ['skills/mail/SKILL.md', true],
    ['app/prompts/system.txt', true],
    ['README.md', false],
    ['src/prompts.ts', false],
    ['src/mcp.json.ts', false],
  ])('%s: %s', (path, isScanned) => {
    expect(files.test(path)).toBe(isScanned);
  });
});
