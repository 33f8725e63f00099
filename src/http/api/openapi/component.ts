/**
 * Named schemas of bodies, used for the routes' types and for `/openapi.json`. Answers are not checked
 * against them at run time: the compiler checks the functions that make them, and tests check what is
 * sent.
 */
import { z } from 'zod';
import type { JsonSchema } from '../../../web/docs/api-document.ts';

type Primitive = string | number | boolean | bigint | null | undefined;

type Immutable<Value> = Value extends Primitive
  ? Value
  : unknown extends Value
    ? Value
    : { readonly [Member in keyof Value]: Immutable<Value[Member]> };

/** The type of a body with a schema, as the function that makes it returns it. */
export type BodyOf<Schema extends z.ZodType> = Immutable<z.infer<Schema>>;

/** Every named body, under the name that the document gives it. */
const components = z.registry<{ readonly id: string }>();

export function component<Schema extends z.ZodType>(id: string, schema: Schema): Schema {
  components.add(schema, { id });
  return schema;
}

type Camel<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : Name;

/** The members of a body under their names in this program; a moment may be a date. */
type Source<Body> = {
  readonly [Name in keyof Body as Camel<Name & string>]:
    | Body[Name]
    | (string extends Body[Name] ? Date : never);
};

const memberNames = new WeakMap<
  z.ZodObject,
  readonly (readonly [member: string, name: string])[]
>();

function namesOf(schema: z.ZodObject) {
  const known = memberNames.get(schema);
  if (known !== undefined) return known;
  const names = Object.keys(schema.shape).map((member) => {
    const name = member.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
    return [member, name] as const;
  });
  memberNames.set(schema, names);
  return names;
}

/** Makes a body of the values that its schema names, in camel case; other values are left out. */
export function bodyFrom<Schema extends z.ZodObject>(
  schema: Schema,
  source: Source<BodyOf<Schema>>,
): BodyOf<Schema> {
  const values: Readonly<Record<string, unknown>> = source;
  const members = namesOf(schema).flatMap(([member, name]) => {
    const value = values[name];
    return value === undefined
      ? []
      : [[member, value instanceof Date ? value.toISOString() : value]];
  });
  return Object.fromEntries(members) as BodyOf<Schema>;
}

/** 32 hexadecimal digits: a run or a finding. */
export const hex16 = (description: string) =>
  z
    .string()
    .regex(/^[0-9a-f]{32}$/)
    .describe(description);

/** 16 hexadecimal digits: a span. */
export const hex8 = (description: string) =>
  z
    .string()
    .regex(/^[0-9a-f]{16}$/)
    .nullable()
    .describe(description);

export const timestamp = (description: string) =>
  z.iso.datetime({ offset: true }).describe(description);

export const count = (description: string) => z.int().min(0).describe(description);

export const nextCursor = z
  .string()
  .nullable()
  .describe(
    'Send it back as `cursor` for the next page; null at the end of the list. A page with a filter ' +
      'that fits little may hold fewer than `limit`, even none, and still not be the last.',
  );

const REFERENCE = '#/components/schemas/';
const REFERENCES = /"\$ref":"#\/components\/schemas\/([^"]+)"/g;

/** Zod's input side, which a client sends in a query, without what no reader needs. */
const SETTINGS = {
  io: 'input',
  override: ({ jsonSchema }: { jsonSchema: Record<string, unknown> }) => {
    // zod's own expressions of dates are long; the format says the same.
    if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
    if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
    if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    const names = jsonSchema.propertyNames as Record<string, unknown> | undefined;
    if (names !== undefined && Object.keys(names).length === 1) delete jsonSchema.propertyNames;
  },
} as const;

function withoutMeta({ $schema, $id, ...schema }: Record<string, unknown>): JsonSchema {
  return schema as JsonSchema;
}

/** The named bodies that `paths` refers to, directly or not, by name. */
export function componentSchemas(paths: unknown): Record<string, JsonSchema> {
  const { schemas } = z.toJSONSchema(components, { ...SETTINGS, uri: (id) => REFERENCE + id });
  const used = new Map<string, JsonSchema>();
  const follow = (from: unknown): void => {
    for (const [, name = ''] of JSON.stringify(from).matchAll(REFERENCES)) {
      const schema = schemas[name];
      if (schema === undefined || used.has(name)) continue;
      used.set(name, withoutMeta(schema));
      follow(used.get(name));
    }
  };
  follow(paths);
  return Object.fromEntries(used);
}

/** A named body by reference, anything else written out. */
export function schemaOf(schema: z.ZodType): JsonSchema {
  const name = components.get(schema)?.id;
  return name === undefined
    ? withoutMeta(z.toJSONSchema(schema, SETTINGS))
    : { $ref: REFERENCE + name };
}

const members = {
  type: z.string().describe('Where the error is explained, relative to this server.'),
  title: z.string(),
  status: z.int().min(400).max(599),
  detail: z.string().describe('What is wrong with this request.'),
};

const reason = z.string().describe('Code of the error, or what exactly refuses the request.');

export const problemBody = component(
  'Problem',
  z.object({ ...members, reason }).describe('Problem details (RFC 9457).'),
);

export const internalProblem = component(
  'InternalProblem',
  z
    .object({
      ...members,
      reason,
      id: z
        .string()
        .regex(/^[0-9a-f]{16}$/)
        .describe("Id of the server's log line that says where the error was thrown."),
    })
    .describe('Problem details of an unexpected error.'),
);

export const credentialProblem = component(
  'CredentialProblem',
  z
    .object({
      ...members,
      reason: z.enum(['missing_credential', 'invalid_credential', 'wrong_key_kind']),
    })
    .describe('Problem details of a request without a sufficient credential.'),
);

export const queryProblem = component(
  'QueryProblem',
  z
    .object({
      ...members,
      reason,
      errors: z
        .array(
          z.object({
            path: z.string().describe('Name of the parameter, in the query or the path.'),
            message: z.string(),
          }),
        )
        .min(1)
        .describe('Every fault of the query, or of the path.'),
    })
    .describe('Problem details of an invalid query or path.'),
);

const rpcCode = z.int().min(1).max(16).describe('A google.rpc.Code.');

export const rpcStatus = component(
  'RpcStatus',
  z
    .object({
      code: rpcCode,
      message: z.string(),
      details: z
        .array(
          z.object({
            '@type': z.literal('type.googleapis.com/google.rpc.BadRequest'),
            fieldViolations: z.array(z.object({ field: z.string(), description: z.string() })),
          }),
        )
        .optional()
        .describe('Where decoding the body failed.'),
    })
    .describe('google.rpc.Status, the form of errors in OTLP.'),
);

export const gone = component(
  'Gone',
  z
    .object({
      code: rpcCode,
      message: z.string(),
      ...members,
      served_path: z.string().describe('Where this host serves the signal.'),
      served_url: z.url().describe('The same with the host.'),
    })
    .describe('Both forms of an error in one, for exporters and for people.'),
);
