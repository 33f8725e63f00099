/** The documentation, from the files this program came with. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { type Asset, assetPath } from '../http/assets.ts';
import type { Documentation } from '../http/document-routes.ts';
import { readDocument, type SourceFile } from '../web/docs/document.ts';
import type { AssetPaths } from '../web/layout.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const ASSETS = new URL('../web/assets/', import.meta.url);

const read = (path: string): string => readFileSync(`${ROOT}${path}`, 'utf8');

/** Files outside `docs/` that are served as documents, and as which. */
const BESIDE = new Map([
  ['README.md', 'overview'],
  ['ARCHITECTURE.md', 'architecture'],
  ['CHANGELOG.md', 'changelog'],
]);

/** What a reader wants first; a page that is not named stands in the last chapter. */
const CHAPTERS: readonly { readonly title: string; readonly slugs: readonly string[] }[] = [
  { title: 'Start', slugs: ['overview', 'instrumentations', 'configuration'] },
  { title: 'Use', slugs: ['errors', 'limits', 'ocsf-export', 'rules-coverage', 'security'] },
  { title: 'Inside', slugs: ['architecture', 'matching', 'performance', 'otlp-conformance'] },
];

function markdownIn(folder: string): string[] {
  return readdirSync(`${ROOT}${folder}`)
    .filter((name) => name.endsWith('.md'))
    .sort()
    .map((name) => `${folder}/${name}`);
}

/** Every file that is served, in the order of their names. */
export function documentFiles(): SourceFile[] {
  const inDocs = [...markdownIn('docs'), ...markdownIn('docs/decisions')];
  const slugs = new Map([
    ...BESIDE,
    ...inDocs.map((path) => [path, path.replace(/^docs\/|\.md$/g, '')] as const),
  ]);
  return [...slugs].map(([path, slug]) => ({ path, slug, markdown: read(path) }));
}

/** The files that pages refer to. */
export function pageAssets(): Asset[] {
  return ['style.css', 'app.js', 'icon.svg'].map((name) => ({
    name,
    content: readFileSync(new URL(name, ASSETS), 'utf8'),
  }));
}

export function pathsOf(assets: readonly Asset[]): AssetPaths {
  const path = (name: string): string => {
    const asset = assets.find((one) => one.name === name);
    return asset === undefined ? '' : assetPath(asset);
  };
  return { style: path('style.css'), script: path('app.js'), icon: path('icon.svg') };
}

/** @param site where this server is, and what it is called */
export function loadDocumentation(site: Documentation['site']): Documentation {
  const files = documentFiles();
  const slugOf = new Map(files.map(({ path, slug }) => [path, slug]));
  const documents = files.map((file) => readDocument(file, slugOf));
  const named = new Set(CHAPTERS.flatMap(({ slugs }) => slugs));
  const isDecision = (slug: string) => slug.startsWith('decisions/');
  return {
    site,
    chapters: [
      ...CHAPTERS.map(({ title, slugs }) => ({
        title,
        documents: slugs.flatMap((slug) => documents.filter((one) => one.slug === slug)),
      })),
      {
        title: 'Decisions',
        documents: documents.filter(({ slug }) => isDecision(slug)),
      },
      {
        title: 'More',
        documents: documents.filter(({ slug }) => !named.has(slug) && !isDecision(slug)),
      },
    ].filter((chapter) => chapter.documents.length > 0),
    read: (slug, markdown) => readDocument({ slug, path: 'docs/index.md', markdown }, slugOf),
  };
}
