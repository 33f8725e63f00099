/** The files that pages load, each at a path with its content's hash, so it can be cached forever. */
import { createHash } from 'node:crypto';
import type { Answer } from './exchange.ts';
import type { Route } from './router.ts';

export interface Asset {
  readonly name: string;
  readonly content: string | Buffer;
}

const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
};
const HASH_CHARS = 12;

/** `style.css` → `/assets/style-0123456789ab.css` */
export function assetPath({ name, content }: Asset): string {
  const hash = createHash('sha256').update(content).digest('hex').slice(0, HASH_CHARS);
  const dot = name.lastIndexOf('.');
  return `/assets/${name.slice(0, dot)}-${hash}${name.slice(dot)}`;
}

function answerOf({ name, content }: Asset): Answer {
  return {
    status: 200,
    contentType: TYPES[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream',
    headers: [['cache-control', 'public, max-age=31536000, immutable']],
    body: Buffer.from(content),
    isShared: true,
  };
}

export function assetRoutes(assets: readonly Asset[]): Route[] {
  return assets.map((asset) => {
    const answer = answerOf(asset);
    return {
      method: 'GET',
      path: assetPath(asset),
      handler: (exchange) => exchange.answer(answer),
    };
  });
}
