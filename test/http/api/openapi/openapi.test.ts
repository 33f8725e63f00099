/**
 * `/openapi.json`: that a public linter finds no fault, that it describes the routes there are and no
 * other, and that its schemas take what real exporters send.
 */
import { JsonTraceSerializer } from '@opentelemetry/otlp-transformer';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-node';
import { describe, expect, test } from 'vitest';
import { createRuleBook } from '../../../../src/engine/rules/rule-book.ts';
import { probeRoutes } from '../../../../src/http/api/open/probe-routes.ts';
import { createApiDocument, operationsOf } from '../../../../src/http/api/openapi/openapi.ts';
import type { ApiSettings } from '../../../../src/http/api/openapi/operation.ts';
import { traceRequest } from '../../../../src/http/api/otlp/otlp-operations.ts';
import type { ReadDependencies } from '../../../../src/http/api/read-routes.ts';
import type { IngestDependencies } from '../../../../src/http/ingest/ingest-routes.ts';
import type { Route } from '../../../../src/http/transport/router.ts';
import { loadDocumentation, pageAssets, pathsOf } from '../../../../src/main/documents.ts';
import { publicRoutes } from '../../../../src/main/http/sites.ts';
import { apiReference } from '../../../../src/web/docs/api-reference.ts';
import { readDocument } from '../../../../src/web/docs/document.ts';
import { escapeHtml } from '../../../../src/web/html.ts';
import { tinyRule } from '../../../engine/tiny-rules.ts';
import { someOf } from '../../../support/cases.ts';
import { lint } from './openapi-lint.ts';

const RULES = [
  tinyRule({ id: 'ATR-2026-00001', conditions: [['user_input', 'ignore all']] }),
  tinyRule({ id: 'ATR-2026-00002', conditions: [['tool_description', 'no surface here']] }),
];
const SETTINGS: ApiSettings = {
  baseUrl: 'https://sluice.acme.dev',
  observeUrl: 'https://otlp.acme.dev',
  bareOtlpOnBase: 'gone',
  brand: 'acme',
  version: '0.1.0',
  maxBodyBytes: 1024,
  maxDecodedBodyBytes: 4096,
  book: createRuleBook({
    snapshot: {
      version: '4.0.0',
      date: '2026-09-19',
      files: 2,
      sha256: 'a'.repeat(64),
      identity: 'b'.repeat(40),
    },
    rules: RULES,
  }),
};
const document = createApiDocument(SETTINGS);

describe('the linter', () => {
  test.each(['gone', 'serve'] as const)('has nothing to say (bare paths: %s)', async (bare) => {
    expect(await lint(createApiDocument({ ...SETTINGS, bareOtlpOnBase: bare }))).toEqual([]);
  });

  test('has nothing to say when the corpus has none of the rules of the examples', async () => {
    const book = { ...SETTINGS.book, rules: [] };
    expect(await lint(createApiDocument({ ...SETTINGS, book }))).toEqual([]);
  });

  test('would find an example that its schema does not take', async () => {
    const text = JSON.stringify(document).replace('"healthy"}', '"ill"}');
    expect(await lint(JSON.parse(text))).toEqual([
      expect.stringContaining('no-invalid-media-type-examples'),
    ]);
  });
});

describe('what is described', () => {
  const isDocumentation = /^\/(docs|llms|openapi)\b/;
  const named = ({ method, path }: Pick<Route, 'method' | 'path'>): string => `${method} ${path}`;

  test.each(['gone', 'serve'] as const)('are the public routes (bare paths: %s)', (bare) => {
    const settings = { ...SETTINGS, bareOtlpOnBase: bare, corsOrigins: [] };
    const routes = publicRoutes(settings, {
      // Creating the routes reads only the lists of rules and providers.
      ingest: {} as IngestDependencies,
      read: {
        rules: { rules: [] },
        runs: {},
        baseUrl: SETTINGS.baseUrl,
        oauthProviders: [],
      } as unknown as ReadDependencies,
      documentation: loadDocumentation(
        {
          brand: 'acme',
          baseUrl: SETTINGS.baseUrl,
          version: '0.1.0',
          assets: pathsOf(pageAssets()),
        },
        () => document,
        pageAssets(),
      ),
      apiDocument: () => document,
    });
    const withoutProbes = {
      probes: new Map(),
      optionalProbes: new Map(),
      events: { ready: () => {}, notReady: () => {} },
    };
    const served = [...routes, ...probeRoutes(withoutProbes)]
      .filter(({ path }) => !isDocumentation.test(path))
      .map(named);
    const described = operationsOf(settings).map(named);
    expect(described.toSorted()).toEqual([...new Set(served)].toSorted());
  });

  test('names hosts, keys and brand of the deployment', () => {
    const text = JSON.stringify(document);
    expect(document.servers.map(({ url }) => url)).toEqual([SETTINGS.baseUrl]);
    expect(document.paths['/v1/traces']?.post?.servers?.map(({ url }) => url)).toEqual([
      SETTINGS.observeUrl,
      SETTINGS.baseUrl,
    ]);
    expect(text).toContain('`acme_live_…`');
    expect(text).not.toContain('sluice_');
    expect(text).not.toContain('"/app');
  });

  test('without a 410 where the bare paths are served', () => {
    const statuses = (bare: ApiSettings['bareOtlpOnBase']) => {
      const { paths } = createApiDocument({ ...SETTINGS, bareOtlpOnBase: bare });
      return Object.keys(paths['/v1/logs']?.post?.responses ?? {});
    };
    expect(statuses('gone')).toContain('410');
    expect(statuses('serve')).not.toContain('410');
  });

  test('every operation with a key says what a bad one, too many requests, an outage answer', () => {
    for (const { operationId, auth, responses } of someOf(operationsOf(SETTINGS))) {
      const expected = auth === 'none' ? [] : ['401', '429', '503'];
      const limited = auth === 'agent' || auth === 'workspace' ? ['403'] : [];
      expect(Object.keys(responses), operationId).toEqual(
        expect.arrayContaining([...expected, ...limited]),
      );
    }
  });

  test('every member of every parameter has a description', () => {
    const operations = Object.values(document.paths).flatMap((item) => Object.values(item));
    const bare = operations.flatMap(({ operationId, parameters }) =>
      parameters
        .filter(({ description }) => description === '')
        .map(({ name }) => `${operationId} ${name}`),
    );
    expect(bare).toEqual([]);
  });
});

describe('the reference that is made of it', () => {
  test('has an anchor for everything, each once, and no link to nowhere', () => {
    const source = { slug: 'api', path: 'docs/api.md', markdown: apiReference(document) };
    const { text } = readDocument(source, new Map()).html;
    const anchors = [...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
    expect(new Set(anchors).size).toBe(anchors.length);
    const links = [...text.matchAll(/href="#([^"]+)"/g)].map(([, id]) => id);
    expect(links.filter((id) => !anchors.includes(id))).toEqual([]);
    for (const { summary } of operationsOf(SETTINGS)) {
      expect(text).toContain(`">${escapeHtml(summary)}<a class="anchor"`);
    }
    // Links to schemas are made of their names.
    for (const name of Object.keys(document.components.schemas)) {
      expect(text).toContain(`<h3 id="${name.toLowerCase()}">${name}<a`);
    }
  });

  test('has every operation and schema in Markdown, too', () => {
    const text = apiReference(document);
    for (const { method, path } of someOf(operationsOf(SETTINGS))) {
      expect(text).toContain(`\`${method} ${path}\` · needs`);
    }
    for (const name of Object.keys(document.components.schemas)) {
      expect(text).toContain(`\n### ${name}\n`);
    }
  });
});

describe('the request schema', () => {
  test('takes what the SDK sends', () => {
    const exporter = new InMemorySpanExporter();
    const provider = new BasicTracerProvider({
      spanProcessors: [new SimpleSpanProcessor(exporter)],
    });
    const tracer = provider.getTracer('t', '1');
    const other = tracer.startSpan('other');
    other.end();
    const span = tracer.startSpan('s', { links: [{ context: other.spanContext() }] });
    span.setAttributes({ text: 'a', int: 5, double: 1.5, yes: true, list: ['a', 'b'] });
    span.addEvent('e', { n: 1 }).setStatus({ code: 2, message: 'no' }).end();
    const bytes = JsonTraceSerializer.serializeRequest(exporter.getFinishedSpans());
    const body: unknown = JSON.parse(Buffer.from(bytes ?? []).toString());
    expect(traceRequest.safeParse(body).error).toBeUndefined();
  });
});
