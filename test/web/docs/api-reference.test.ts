/** The API reference, as a page and as Markdown: everything of the document, once, and escaped. */
import { describe, expect, test } from 'vitest';
import type { ApiDocument } from '../../../src/web/docs/api-document.ts';
import {
  apiReference,
  limitsOf,
  prettyJson,
  rowsOf,
  typeOf,
} from '../../../src/web/docs/api-reference.ts';
import { readDocument } from '../../../src/web/docs/document.ts';

const DOCUMENT: ApiDocument = {
  openapi: '3.1.1',
  info: {
    title: 'acme API',
    version: '1.2.3',
    summary: 'Things.',
    description: 'Keys go into `Authorization`.\n\nSecond <paragraph>.',
    license: { name: 'MIT', identifier: 'MIT' },
  },
  servers: [{ url: 'https://acme.dev', description: 'Everything.' }],
  tags: [{ name: 'Small things', description: 'What is small.' }],
  paths: {
    '/things/{thingId}': {
      get: {
        operationId: 'getThing',
        tags: ['Small things'],
        summary: 'Read one thing',
        description: 'By its id.',
        security: [{ agentKey: [] }, { workspaceKey: [] }],
        parameters: [
          {
            name: 'thingId',
            in: 'path',
            required: true,
            description: 'Its id.',
            schema: { type: 'string', pattern: '^a|b$' },
            example: 't1',
          },
          {
            name: 'limit',
            in: 'query',
            required: false,
            description: 'Most of them.',
            schema: { type: 'integer', minimum: 1, maximum: 5, default: 2 },
          },
        ],
        responses: {
          200: {
            description: 'The thing.',
            headers: {
              ETag: { description: 'Its version.', required: true, schema: { type: 'string' } },
            },
            content: {
              'application/json': {
                schema: { $ref: '#/components/schemas/Thing' },
                examples: { one: { summary: 'A thing.', value: { id: '</script>' } } },
              },
            },
          },
        },
      },
    },
    '/things': {
      post: {
        operationId: 'sendThings',
        tags: ['Small things'],
        summary: 'Send things',
        description: 'Many.',
        security: [],
        servers: [{ url: 'https://in.acme.dev', description: 'In.' }],
        parameters: [],
        requestBody: {
          required: true,
          description: 'Things.',
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Thing' } } },
        },
        responses: {
          200: { description: 'Taken.', content: {} },
          429: {
            description: 'Too many.',
            headers: {
              'Retry-After': { description: 'Wait.', required: true, schema: { type: 'integer' } },
            },
            content: {
              'application/json': {
                schema: { type: 'string' },
                examples: { busy: { summary: 'Busy.', value: 'a|b' } },
              },
            },
          },
        },
      },
    },
  },
  components: {
    schemas: {
      Thing: {
        type: 'object',
        description: 'A thing.',
        required: ['id'],
        properties: {
          id: { type: 'string', description: 'Its id.' },
          parts: {
            type: 'array',
            items: { type: 'object', properties: { kind: { type: 'string', enum: ['a', 'b'] } } },
          },
        },
      },
    },
    securitySchemes: {
      agentKey: { type: 'http', scheme: 'bearer', description: 'A key, `acme_live_…`.' },
    },
  },
};

describe('the page', () => {
  const source = { slug: 'api', path: 'docs/api.md', markdown: apiReference(DOCUMENT) };
  const { html, headings } = readDocument(source, new Map());
  const { text } = html;

  test('has an anchor for each operation, tag and schema, and each once', () => {
    const ids = [...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
    const named = ['small-things', 'read-one-thing', 'send-things', 'schemas', 'thing'];
    expect(ids).toEqual(expect.arrayContaining(named));
    expect(new Set(ids).size).toBe(ids.length);
    const links = [...text.matchAll(/href="#([^"]+)"/g)].map(([, id]) => id);
    expect(links.filter((id) => !ids.includes(id))).toEqual([]);
    expect(headings.filter(({ depth }) => depth === 2)).toEqual([
      { id: 'small-things', text: 'Small things', depth: 2 },
      { id: 'schemas', text: 'Schemas', depth: 2 },
    ]);
  });

  test('escapes what the document says, and shows code as code', () => {
    expect(text).toContain('<p>Keys go into <code>Authorization</code>.</p>');
    expect(text).toContain('<p>Second &lt;paragraph&gt;.</p>');
    expect(text).toContain('&lt;/script&gt;');
    expect(text).not.toMatch(/<script|https?:\/\/[^\s<]+\.(js|css)/);
  });

  test('tells keys, parameters, requests and answers', () => {
    expect(text).toContain(
      '<code>GET /things/{thingId}</code> · needs an agent key or a workspace key',
    );
    expect(text).toContain('needs no key');
    expect(text).toContain('curl https://acme.dev/things/t1 \\\n  -H &#39;Authorization: Bearer');
    expect(text).toContain('curl https://in.acme.dev/things \\\n  -H &#39;Content-Type');
    expect(text).toContain('<code>1 to 5</code> <code>default 2</code>');
    expect(text).toContain('Header <code>ETag</code>: Its version.');
    expect(text).toContain('<a href="#thing">Thing</a>');
    expect(text).toContain('<td>Too many. Header <code>Retry-After</code>.</td>');
    expect(text).toContain('<td>string: <code>&quot;a|b&quot;</code></td>');
    expect(text).toMatch(/<details><summary><code>one<\/code>: A thing\.<\/summary>\s*<pre/);
  });
});

describe('the Markdown', () => {
  const text = apiReference(DOCUMENT);

  test('says the same', () => {
    expect(text.split('\n').filter((line) => line.startsWith('#'))).toEqual([
      '# acme API',
      '## Small things',
      '### Read one thing',
      '#### 200',
      '### Send things',
      '#### Body',
      '#### 200',
      '#### Refusals',
      '## Schemas',
      '### Thing',
    ]);
    expect(text).toContain('`GET /things/{thingId}` · needs an agent key or a workspace key');
    expect(text).toContain('| `thingId` | string, path | Its id. `matches ^a\\|b$` |');
    expect(text).toContain('| 429 | Too many. Header `Retry-After`. | string: `"a\\|b"` |');
    expect(text).toContain('| `parts[].kind` | string, optional | `one of "a", "b"` |');
    expect(text).toContain('```json\n{ "id": "</script>" }\n```');
  });
});

describe('JSON for reading', () => {
  test('has on a line what fits, and is the same JSON', () => {
    const value = { a: [1, { b: null }], c: 'x'.repeat(90), d: {}, e: [], f: ['y'.repeat(95)] };
    const text = prettyJson(value);
    expect(JSON.parse(text)).toEqual(value);
    expect(text.split('\n').slice(0, 2)).toEqual(['{', '  "a": [1, { "b": null }],']);
  });
});

describe('a schema in words', () => {
  test.each([
    [{ type: 'string', format: 'date-time' }, 'string (date-time)'],
    [{ type: ['string', 'null'] }, 'string or null'],
    [
      { anyOf: [{ $ref: '#/components/schemas/Thing' }, { type: 'null' }] },
      '[Thing](#thing) or null',
    ],
    [{ type: 'array', items: { $ref: '#/components/schemas/Thing' } }, '[Thing](#thing)[]'],
    [{}, 'any JSON'],
  ] as const)('%j is %s', (schema, expected) => {
    expect(typeOf(schema)).toBe(expected);
  });

  test('tells its limits', () => {
    expect(limitsOf({ anyOf: [{ type: 'string', enum: ['a'] }, { type: 'null' }] })).toEqual([
      'one of "a"',
    ]);
    expect(limitsOf({ type: 'string', const: 'x', maxLength: 3 })).toEqual([
      'always "x"',
      'at most 3 characters',
    ]);
    expect(limitsOf({ type: 'integer', minimum: 0 })).toEqual(['0 or more']);
  });

  test('has a row for every member, those of unnamed objects too', () => {
    expect(rowsOf(DOCUMENT.components.schemas.Thing ?? {}).map(({ name }) => name)).toEqual([
      'id',
      'parts',
      'parts[].kind',
    ]);
  });
});
