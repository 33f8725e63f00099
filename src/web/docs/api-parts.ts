/** The content of the API reference, independent of HTML and Markdown: operations by tag, table rows. */
import type { JsonObject, JsonValue } from '../../model/json.ts';
import type {
  ApiContent,
  ApiDocument,
  ApiMethod,
  ApiOperation,
  JsonSchema,
} from './api-document.ts';

const REFERENCE = '#/components/schemas/';

export interface PlacedOperation extends ApiOperation {
  readonly method: ApiMethod;
  readonly path: string;
}

export interface OperationGroup {
  readonly name: string;
  readonly description: string;
  readonly operations: readonly PlacedOperation[];
}

/** A piece of a type's name; a named schema can be looked up. */
export interface TypePart {
  readonly text: string;
  readonly schema: string | null;
}

/** One member of a body, or one parameter. */
export interface Row {
  /** as `metadata.step.span_id` or `rules[].id` */
  readonly name: string;
  readonly type: readonly TypePart[];
  readonly required: boolean;
  readonly description: string;
  /** as `1 to 500`, `default 50` */
  readonly limits: readonly string[];
}

/** The operations of each tag, in the document's order. */
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

/** The name of an anchor: `Risk findings` → `risk-findings` */
export const anchorOf = (text: string): string => text.toLowerCase().replace(/[^a-z0-9]+/g, '-');
export const schemaAnchor = (name: string): string => `schema-${anchorOf(name)}`;

/** The name that a reference leads to. */
function referenceOf({ $ref }: JsonSchema): string | null {
  return $ref?.startsWith(REFERENCE) ? $ref.slice(REFERENCE.length) : null;
}

const plain = (text: string): TypePart[] => [{ text, schema: null }];

/** A type in words: `string`, `Finding[]`, `integer or null`. */
export function typeOf(schema: JsonSchema): TypePart[] {
  const name = referenceOf(schema);
  if (name !== null) return [{ text: name, schema: name }];
  if (schema.anyOf !== undefined) {
    return schema.anyOf.flatMap((one, index) =>
      index === 0 ? typeOf(one) : [...plain(' or '), ...typeOf(one)],
    );
  }
  if (schema.type === 'array') return [...typeOf(schema.items ?? {}), ...plain('[]')];
  if (schema.type === undefined) return plain('any JSON');
  const type = typeof schema.type === 'string' ? schema.type : schema.type.join(' or ');
  return plain(schema.format === undefined ? type : `${type} (${schema.format})`);
}

function rangeOf(least: number | undefined, most: number | undefined, unit: string): string[] {
  if (least !== undefined && most !== undefined) return [`${least} to ${most}${unit}`];
  if (least !== undefined) return [`${least} or more${unit}`];
  return most === undefined ? [] : [`at most ${most}${unit}`];
}

/** What values a type is narrowed to. */
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

/** The parameters of an operation. */
export function parameterRows({ parameters }: ApiOperation): (Row & { readonly in: string })[] {
  return parameters.map(({ name, in: place, required, description, schema }) => ({
    name,
    in: place,
    type: typeOf(schema),
    required,
    description,
    limits: limitsOf(schema),
  }));
}

/** The key that an operation needs. */
export function keyOf({ security }: ApiOperation): string {
  const names = security.flatMap((one) => Object.keys(one));
  const words = names.map((name) => (name === 'agentKey' ? 'an agent key' : 'a workspace key'));
  return words.length === 0 ? 'no key' : words.join(' or ');
}

/** The request as a command line, with the examples of the parameters in the path. */
export function commandOf(operation: PlacedOperation, document: ApiDocument): string {
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

/** The answers to requests that were taken, and the refusals. */
export function answersOf({ responses }: ApiOperation) {
  const all = Object.entries(responses);
  const isRefusal = ([status]: readonly [string, unknown]): boolean => Number(status) >= 400;
  return { taken: all.filter((one) => !isRefusal(one)), refused: all.filter(isRefusal) };
}

/** A content's examples, as text to show. */
export function examplesOf({ examples = {} }: ApiContent) {
  return Object.entries(examples).map(([name, { summary, value }]) => ({
    name,
    summary,
    text: prettyJson(value),
  }));
}
