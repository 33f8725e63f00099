/**
 * Runs a client as its page says: writes the page's files into a folder, then runs the page's
 * commands there, with the addresses and keys of this run in place of the page's.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import type { Client } from './client.ts';
import { blocksOf } from './page.ts';
import { expectAnswer, SYSTEM, TOOL_RESULT, USER } from './story.ts';

const HERE = import.meta.dirname;
const PACKAGES = join(HERE, 'node_modules');
const NODE_24 = join(PACKAGES, `node-${process.platform}-${process.arch}`, 'bin');
/** Where `node` is: Node 24 from npm, where there is one for this machine. */
export const NODE = existsSync(NODE_24) ? NODE_24 : dirname(process.execPath);
const ENDS_WITHIN_MS = 180_000;
/** What a page writes for the address, that of a relay, and the agent key. */
const ADDRESS = 'http://localhost:4318';
const RELAY_ADDRESS = 'http://127.0.0.1:4318';
const KEY = 'sluice_live_…';

export interface Surroundings {
  readonly observeUrl: string;
  /** of a relay to it, for a client that needs one */
  readonly relayUrl: string | null;
  readonly agentKey: string;
  readonly providerUrl: string;
}

/** The version of a package that is installed here. */
export function versionOf(name: string): string {
  const manifest = readFileSync(join(PACKAGES, name, 'package.json'), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}

/** Where a client is run, and what it wrote and sent is left until it is run again. */
export function folderOf({ name }: Client, isWithheld: boolean): string {
  const title = isWithheld ? `${name} withheld` : name;
  return join(HERE, '.run', title.replaceAll(/[^\w.]+/g, '-').toLowerCase());
}

/** @throws with what the client wrote, when it fails or does not end */
export async function runClient(
  client: Client,
  { observeUrl, relayUrl, agentKey, providerUrl }: Surroundings,
  isWithheld = false,
): Promise<void> {
  const folder = folderOf(client, isWithheld);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  cpSync(join(HERE, 'story.ts'), join(folder, 'story.ts'));
  if (client.agent !== undefined) {
    cpSync(join(HERE, 'agents', client.agent), join(folder, 'agent.mjs'));
  }
  for (const [name, from] of Object.entries(client.packages ?? {})) {
    cpSync(join(PACKAGES, from), join(folder, 'node_modules', name), { recursive: true });
  }
  for (const [name, text] of Object.entries(client.texts ?? {})) {
    writeFileSync(join(folder, name), text);
  }
  writeFileSync(join(folder, 'parcel.txt'), `${TOOL_RESULT}\n`);
  const ours = (text: string) =>
    text
      .replaceAll(ADDRESS, observeUrl)
      .replaceAll(RELAY_ADDRESS, relayUrl ?? RELAY_ADDRESS)
      .replaceAll(KEY, agentKey);
  const files = { js: 'telemetry.mjs', ...client.files };
  const commands: string[] = [];
  for (const { language, text } of blocksOf(client.page, client.section)) {
    const name = files[language as keyof typeof files];
    if (language === 'sh') commands.push(ours(text));
    else if (name !== undefined) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), ours(text));
    }
  }
  if (client.command !== undefined) {
    cpSync(join(HERE, 'agents/mcp-server.mjs'), join(folder, 'mcp-server.mjs'));
    commands.push(client.command);
  }
  const script = commands.join('').replaceAll(/^npm install (?:.*\\\n)*.*\n/gm, '');
  const { PATH = '' } = process.env;
  const child = spawn('bash', ['-euc', script], {
    cwd: folder,
    env: {
      PATH: `${NODE}:${join(PACKAGES, '.bin')}:${PATH}`,
      HOME: folder,
      STORY_USER: USER,
      STORY_SYSTEM: SYSTEM,
      PROVIDER_URL: providerUrl,
      ...client.env?.(providerUrl),
      ...(isWithheld ? client.withheld : {}),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const timer = setTimeout(() => {
    output += `\nnot ended within ${ENDS_WITHIN_MS} ms`;
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  }, ENDS_WITHIN_MS);
  const [code] = (await once(child, 'close')) as [number | null];
  clearTimeout(timer);
  writeFileSync(join(folder, 'output.txt'), output);
  if (client.command !== undefined) expectAnswer(output);
  if (code !== 0) throw new Error(`${client.name} ended with ${code}:\n${output.slice(-4000)}`);
}
