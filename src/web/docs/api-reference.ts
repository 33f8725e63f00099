/** The API reference: `/openapi.json` as Markdown, from which `document.ts` makes the page. */
import type { JsonObject, JsonValue } from '../../model/json.ts';
import { escapeHtml } from '../html.ts';
import type {
  ApiContent,
  ApiDocument,
  ApiMethod,
  ApiOperation,
  ApiResponse,
  JsonSchema,
} from './api-document.ts';

/** A table cell: a bar would end it, a line break would end the row. */
const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
/** Text with code spans, in which a `<` outside of them starts no HTML. */
const prose = (text: string): string =>
  text
    .split('`')
    .map((part, index) => (index % 2 === 1 ? part : part.replaceAll('<', '&lt;')))
    .join('`');
/** In code spans, so that no expression is taken for markup. */
const limitText = (limit: string): string => `\`${limit}\``;

function table(rows: readonly (Row & { readonly in?: string })[], first: string): string {
  const lines = rows.map((row) => {
    const { name, required, description, limits } = row;
    const place = row.in === undefined ? '' : `, ${row.in}`;
    const type = `${row.type}${place}${required ? '' : ', optional'}`;
    const meaning = [prose(description), ...limits.map(limitText)].filter(Boolean).join(' ');
    return `| \`${name}\` | ${cell(type)} | ${cell(meaning)} |`;
  });
  return `| ${first} | type | meaning |\n|---|---|---|\n${lines.join('\n')}\n`;
}

const fence = (text: string, language: string): string => `\`\`\`${language}\n${text}\n\`\`\`\n`;

/** An example, folded. Text in an HTML block is not Markdown, so its code spans are elements. */
function exampleText({ name, summary, text }: ReturnType<typeof examplesOf>[number]): string {
  const html = escapeHtml(summary).replaceAll(/`([^`]*)`/g, '<code>$1</code>');
  const title = `<summary><code>${escapeHtml(name)}</code>: ${html}</summary>`;
  return `<details>${title}\n\n${fence(text, 'json')}\n</details>\n`;
}

function contentText([mediaType, content]: readonly [string, ApiContent]): string {
  const examples = examplesOf(content).map(exampleText);
  return [`\`${mediaType}\`: ${typeOf(content.schema)}\n`, ...examples].join('\n');
}

function responseText([status, response]: readonly [string, ApiResponse]): string {
  const { description, headers = {}, content } = response;
  return [
    `#### ${status}\n`,
    `${prose(description)}\n`,
    ...Object.entries(headers).map(
      ([name, header]) => `Header \`${name}\`: ${prose(header.description)}\n`,
    ),
    ...Object.entries(content).map(contentText),
  ].join('\n');
}

/** Refusals are many and short: one table, each example on a line. */
function refusalsText(refused: readonly (readonly [string, ApiResponse])[]): string {
  const lines = refused.map(([status, { description, headers = {}, content }]) => {
    const names = Object.keys(headers).map((name) => ` Header \`${name}\`.`);
    const bodies = Object.values(content).map(({ schema, examples = {} }) => {
      const texts = Object.values(examples).map(({ value }) => `\`${JSON.stringify(value)}\``);
      return `${typeOf(schema)}: ${texts.join(' or ')}`;
    });
    return `| ${status} | ${cell(prose(description) + names.join(''))} | ${cell(bodies.join(' or '))} |`;
  });
  return `| status | when | body |\n|---|---|---|\n${lines.join('\n')}\n`;
}

function operationText(operation: PlacedOperation, document: ApiDocument): string {
  const { method, path, summary, description, requestBody } = operation;
  const { taken, refused } = answersOf(operation);
  const rows = parameterRows(operation);
  return [
    `### ${summary}\n`,
    `\`${method.toUpperCase()} ${path}\` · needs ${keyOf(operation)}\n`,
    `${prose(description)}\n`,
    fence(commandOf(operation, document), 'sh'),
    ...(rows.length === 0 ? [] : [table(rows, 'parameter')]),
    ...(requestBody === undefined
      ? []
      : [
          '#### Body\n',
          `${prose(requestBody.description)}\n`,
          ...Object.entries(requestBody.content).map(contentText),
        ]),
    ...taken.map(responseText),
    ...(refused.length === 0 ? [] : ['#### Refusals\n', refusalsText(refused)]),
  ].join('\n');
}

export function apiReference(document: ApiDocument): string {
  const { info, servers, components } = document;
  const schemes = Object.values(components.securitySchemes);
  return [
    `# ${info.title}\n`,
    `${prose(info.description)}\n`,
    `Version ${info.version}, served at ${servers.map(({ url }) => `\`${url}\``).join(', ')}. ` +
      'The same for machines: [openapi.json](/openapi.json).\n',
    `${schemes.map(({ description }) => `- ${description}`).join('\n')}\n`,
    ...groupsOf(document).flatMap(({ name, description, operations }) => [
      `## ${name}\n`,
      `${prose(description)}\n`,
      ...operations.map((operation) => operationText(operation, document)),
    ]),
    '## Schemas\n',
    ...Object.entries(components.schemas).map(([name, schema]) => {
      const rows = rowsOf(schema);
      const members = rows.length === 0 ? '' : `\n${table(rows, 'member')}`;
      return `### ${name}\n\n${prose(schema.description ?? '')}\n${members}`;
    }),
  ].join('\n');
}

const REFERENCE = '#/components/schemas/';

interface PlacedOperation extends ApiOperation {
  readonly method: ApiMethod;
  readonly path: string;
}

interface OperationGroup {
  readonly name: string;
  readonly description: string;
  readonly operations: readonly PlacedOperation[];
}

export interface Row {
  /** as `metadata.step.span_id` or `rules[].id` */
  readonly name: string;
  /** in Markdown; the names of schemas are links */
  readonly type: string;
  readonly required: boolean;
  readonly description: string;
  /** as `1 to 500`, `default 50` */
  readonly limits: readonly string[];
}

export function groupsOf({ tags, paths }: ApiDocument): OperationGroup[] {
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]): PlacedOperation => {
      return { ...operation, path, method: method === 'get' ? 'get' : 'post' };
    }),
  );
  return tags.map((tag) => ({
    ...tag,
    operations: operations.filter((operation) => operation.tags.includes(tag.name)),
  }));
}

/** A type in words, as Markdown: `string`, `[Finding](#finding)[]`, `integer or null`. */
export function typeOf(schema: JsonSchema): string {
  const { $ref, anyOf, items = {}, type, format } = schema;
  if ($ref?.startsWith(REFERENCE)) {
    const name = $ref.slice(REFERENCE.length);
    return `[${name}](#${name.toLowerCase()})`;
  }
  if (anyOf !== undefined) return anyOf.map(typeOf).join(' or ');
  if (type === 'array') return `${typeOf(items)}[]`;
  if (type === undefined) return 'any JSON';
  const words = typeof type === 'string' ? type : type.join(' or ');
  return format === undefined ? words : `${words} (${format})`;
}

function rangeOf(least: number | undefined, most: number | undefined, unit: string): string[] {
  if (least !== undefined && most !== undefined) return [`${least} to ${most}${unit}`];
  if (least !== undefined) return [`${least} or more${unit}`];
  return most === undefined ? [] : [`at most ${most}${unit}`];
}

export function limitsOf(schema: JsonSchema): string[] {
  const values = schema.enum ?? schema.anyOf?.find((one) => one.enum !== undefined)?.enum;
  const json = (value: unknown): string => JSON.stringify(value);
  return [
    ...(values === undefined ? [] : [`one of ${values.map(json).join(', ')}`]),
    ...(schema.const === undefined ? [] : [`always ${json(schema.const)}`]),
    ...rangeOf(schema.minimum, schema.maximum, ''),
    ...rangeOf(schema.minLength, schema.maxLength, ' characters'),
    ...(schema.pattern === undefined ? [] : [`matches ${schema.pattern}`]),
    ...(schema.default === undefined ? [] : [`default ${json(schema.default)}`]),
  ];
}

/** The object inside a member: itself, or what a list holds; null for a named or a simple one. */
function innerOf(schema: JsonSchema): { readonly inner: JsonSchema; readonly mark: string } | null {
  if (schema.properties !== undefined) return { inner: schema, mark: '' };
  const { items } = schema;
  return items?.properties === undefined ? null : { inner: items, mark: '[]' };
}

/** The members of a body, including those of unnamed objects in it. */
export function rowsOf({ properties = {}, required = [] }: JsonSchema, prefix = ''): Row[] {
  return Object.entries(properties).flatMap(([member, schema]) => {
    const name = `${prefix}${member}`;
    const row: Row = {
      name,
      type: typeOf(schema),
      required: required.includes(member),
      description: schema.description ?? '',
      limits: limitsOf(schema),
    };
    const nested = innerOf(schema);
    return nested === null ? [row] : [row, ...rowsOf(nested.inner, `${name}${nested.mark}.`)];
  });
}

function parameterRows({ parameters }: ApiOperation): (Row & { readonly in: string })[] {
  return parameters.map(({ name, in: place, required, description, schema }) => ({
    name,
    in: place,
    type: typeOf(schema),
    required,
    description,
    limits: limitsOf(schema),
  }));
}

export function keyOf({ security }: ApiOperation): string {
  const names = security.flatMap((one) => Object.keys(one));
  const words = names.map((name) => (name === 'agentKey' ? 'an agent key' : 'a workspace key'));
  return words.length === 0 ? 'no key' : words.join(' or ');
}

/** The request as a command line, with the examples of the parameters in the path. */
function commandOf(operation: PlacedOperation, document: ApiDocument): string {
  const { parameters, requestBody, security, servers = document.servers, path } = operation;
  const filled = path.replace(/\{(\w+)\}/g, (whole, name: string) =>
    String(parameters.find((one) => one.name === name)?.example ?? whole),
  );
  return [
    `curl ${servers[0]?.url ?? ''}${filled}`,
    ...(security.length === 0 ? [] : ["-H 'Authorization: Bearer <API_KEY>'"]),
    ...(requestBody === undefined
      ? []
      : ["-H 'Content-Type: application/json'", '--data-binary @body.json']),
  ].join(' \\\n  ');
}

const LINE_CHARS_MAX = 96;

function onOneLine(value: JsonValue): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(onOneLine).join(', ')}]`;
  const members = membersOf(value);
  return members.length === 0
    ? '{}'
    : `{ ${members.map(([name, member]) => `${name}: ${onOneLine(member)}`).join(', ')} }`;
}

const membersOf = (value: JsonObject): [string, JsonValue][] =>
  Object.entries(value).map(([name, member]) => [JSON.stringify(name), member]);

/** Formats JSON; values that fit on one line are on one line. */
export function prettyJson(value: JsonValue, indent = ''): string {
  const line = onOneLine(value);
  const fits = indent.length + line.length <= LINE_CHARS_MAX;
  if (fits || value === null || typeof value !== 'object') return line;
  const deeper = `${indent}  `;
  const entries = Array.isArray(value)
    ? value.map((item) => prettyJson(item, deeper))
    : membersOf(value).map(([name, member]) => `${name}: ${prettyJson(member, deeper)}`);
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  return `${open}\n${entries.map((entry) => deeper + entry).join(',\n')}\n${indent}${close}`;
}

function answersOf({ responses }: ApiOperation) {
  const all = Object.entries(responses);
  const isRefusal = ([status]: readonly [string, unknown]): boolean => Number(status) >= 400;
  return { taken: all.filter((one) => !isRefusal(one)), refused: all.filter(isRefusal) };
}

function examplesOf({ examples = {} }: ApiContent) {
  return Object.entries(examples).map(([name, { summary, value }]) => ({
    name,
    summary,
    text: prettyJson(value),
  }));
}
