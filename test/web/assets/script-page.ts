/**
 * Pages of the dashboard with their real script, in a real browser, from a server that answers what a test
 * says: no database, no session, no rule.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';

import { assetPath } from '../../../src/http/transport/assets.ts';
import { pageAssets, pathsOf } from '../../../src/main/documents.ts';
import type { Look } from '../../../src/web/app/shell.ts';
import { openBrowser } from '../../support/chromium.ts';

const ASSETS = pageAssets();
/** What pages name: the script and the style as they are served. */
export const LOOK: Look = { brand: 'sluice', assets: pathsOf(ASSETS) };

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript',
  css: 'text/css',
  svg: 'image/svg+xml',
};

/** The number that a script of the pages has under a name. */
export function scriptNumber(name: string): number {
  const scripts = ASSETS.filter(({ name: file }) => file.endsWith('.js'));
  const pattern = new RegExp(`^ *const ${name} = ([\\d_]+);`, 'm');
  const found = scripts.flatMap(({ content }) => pattern.exec(content.toString())?.[1] ?? []);
  if (found[0] === undefined) throw new Error(`no script has the number ${name}`);
  return Number(found[0].replaceAll('_', ''));
}

export interface Request {
  readonly method: string;
  /** with its query */
  readonly path: string;
  readonly body: string;
}

export interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly text: string;
}

type Answering = (request: Request) => Answer | Promise<Answer>;

export interface ScriptPage {
  readonly page: Page;
  /** the requests since the page was opened, without the files that it refers to */
  readonly requests: Request[];
  /** Opens a page; the server then gives `answer` for every request, the first one included. */
  readonly open: (path: string, answer: string | Answering) => Promise<void>;
  readonly close: () => Promise<void>;
}

export async function openScriptPage(): Promise<ScriptPage> {
  const requests: Request[] = [];
  let answering: Answering = () => ({ status: 404, text: '' });
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    const asset = ASSETS.find((one) => assetPath(one) === path);
    if (asset !== undefined) {
      const type = TYPES[path.split('.').at(-1) ?? ''] ?? 'application/octet-stream';
      response.writeHead(200, { 'content-type': type }).end(asset.content);
      return;
    }
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', async () => {
      const own = { method: request.method ?? '', path, body: Buffer.concat(chunks).toString() };
      requests.push(own);
      const { status = 200, headers = {}, text } = await answering(own);
      response.writeHead(status, { 'content-type': 'text/html; charset=utf-8', ...headers });
      response.end(text);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const browser = await openBrowser({ viewport: { width: 1280, height: 900 } });
  const page = await browser.context.newPage();
  await browser.context.grantPermissions(['clipboard-read', 'clipboard-write']);
  return {
    page,
    requests,
    open: async (path, answer) => {
      answering = typeof answer === 'string' ? () => ({ text: answer }) : answer;
      requests.length = 0;
      await page.goto(`${baseUrl}${path}`);
    },
    close: async () => {
      await browser.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
