/** Loads the documentation and page assets from the files of this installation. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Documentation } from '../http/api/open/document-routes.ts';
import { type Asset, assetPath } from '../http/transport/assets.ts';
import type { ApiDocument } from '../web/docs/api-document.ts';
import { apiReference } from '../web/docs/api-reference.ts';
import {
  type Document,
  documentPath,
  readDocument,
  type SourceFile,
} from '../web/docs/document.ts';
import type { AssetPaths } from '../web/layout.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const ASSETS = fileURLToPath(new URL('../web/assets/', import.meta.url));
const IMAGES = 'docs/images';

const read = (path: string): string => readFileSync(`${ROOT}${path}`, 'utf8');

/** Files outside `docs/` that are served as documents, and as which. */
const BESIDE = new Map([
  ['README.md', 'overview'],
  ['ARCHITECTURE.md', 'architecture'],
  ['CHANGELOG.md', 'changelog'],
]);

const slugOf = (path: string): string => path.replace(/^docs\/|\.md$/g, '');

/** The chapters by task, in order; pages not listed here are in the last chapter. */
const CHAPTERS: readonly { readonly title: string; readonly slugs: readonly string[] }[] = [
  { title: 'Start', slugs: ['overview', 'getting-started', 'glossary', 'changelog'] },
  {
    title: 'Send',
    slugs: ['instrumentations', ...markdownIn('docs/send').map(slugOf), 'relay'],
  },
  {
    title: 'Look',
    slugs: ['dashboard', 'alerts', 'tools', 'matching', 'rules-coverage', 'rule-attributes'],
  },
  {
    title: 'Operate',
    slugs: [
      'deployment',
      'configuration',
      'reverse-proxy',
      'operations',
      'limits',
      'security',
      'redaction',
      'high-availability',
      'reliability',
      'performance',
      'scaling',
      'citus',
      'bounds',
      'releases',
    ],
  },
  {
    title: 'Integrate',
    slugs: ['api', 'cli', 'export', 'ocsf-export', 'evidence', 'mcp', 'otlp-conformance', 'errors'],
  },
  { title: 'Extend', slugs: ['architecture', 'testing', 'debugging'] },
];

function markdownIn(folder: string): string[] {
  return readdirSync(`${ROOT}${folder}`)
    .filter((name) => name.endsWith('.md'))
    .sort()
    .map((name) => `${folder}/${name}`);
}

export function documentFiles(): SourceFile[] {
  const inDocs = ['docs', 'docs/send', 'docs/decisions'].flatMap(markdownIn);
  const slugs = new Map([...BESIDE, ...inDocs.map((path) => [path, slugOf(path)] as const)]);
  return [...slugs].map(([path, slug]) => ({ path, slug, markdown: read(path) }));
}

/** Sent as one style sheet, in the order of the cascade. */
const STYLES = [
  'style.css',
  'dashboard.css',
  'forms.css',
  'triage.css',
  'run.css',
  'inbox.css',
  'coverage.css',
  'narrow.css',
];

/** Sent as one script; each file after the first is a separate block. */
const SCRIPTS = ['app.js', 'times.js', 'run.js', 'inbox.js'];

/** The files that pages refer to: style, script, icon, and the documents' images. */
export function pageAssets(): Asset[] {
  const asset = (name: string): string => readFileSync(`${ASSETS}${name}`, 'utf8');
  const own = [
    { name: 'style.css', content: STYLES.map(asset).join('') },
    { name: 'app.js', content: SCRIPTS.map(asset).join('') },
    { name: 'icon.svg', content: asset('icon.svg') },
  ];
  const images = readdirSync(`${ROOT}${IMAGES}`).sort();
  return [
    ...own,
    ...images.map((name) => ({ name, content: readFileSync(`${ROOT}${IMAGES}/${name}`) })),
  ];
}

export function pathsOf(assets: readonly Asset[]): AssetPaths {
  const path = (name: string): string => {
    const asset = assets.find((one) => one.name === name);
    return asset === undefined ? '' : assetPath(asset);
  };
  return { style: path('style.css'), script: path('app.js'), icon: path('icon.svg') };
}

export function sendGuides({ chapters }: Documentation): readonly Document[] {
  const documents = chapters.flatMap((chapter) => chapter.documents);
  return documents.filter(({ slug }) => slug.startsWith('send/'));
}

/** @param api called when its page is */
export function loadDocumentation(
  site: Documentation['site'],
  api: () => ApiDocument,
  assets: readonly Asset[],
): Documentation {
  const files = documentFiles();
  const addressOf = new Map([
    ...files.map(({ path, slug }) => [path, documentPath(slug)] as const),
    ...assets.map((asset) => [`${IMAGES}/${asset.name}`, assetPath(asset)] as const),
  ]);
  const reference = {
    slug: 'api',
    path: 'docs/api.md',
    get markdown() {
      return apiReference(api());
    },
  };
  const documents = [
    ...files.map((file) => readDocument(file, addressOf)),
    readDocument(reference, addressOf, () => api().info.summary),
  ];
  const named = new Set(CHAPTERS.flatMap(({ slugs }) => slugs));
  const isDecision = ({ slug }: Document) => slug.startsWith('decisions/');
  return {
    site,
    chapters: [
      ...CHAPTERS.map(({ title, slugs }) => ({
        title,
        documents: slugs.flatMap((slug) => documents.filter((one) => one.slug === slug)),
      })),
      { title: 'Decisions', documents: documents.filter(isDecision) },
      {
        title: 'More',
        documents: documents.filter((one) => !named.has(one.slug) && !isDecision(one)),
      },
    ].filter((chapter) => chapter.documents.length > 0),
    read: (slug, markdown) => readDocument({ slug, path: 'docs/index.md', markdown }, addressOf),
  };
}
