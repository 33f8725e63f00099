/**
 * zod objects as the JSON Schema of an OpenAPI 3.1 document (draft 2020-12). Zod's
 * input side, which a client sends in a query; bodies of answers have one side only.
 */
import { z } from 'zod';

import type { JsonSchema } from '../../../web/docs/api-document.ts';
import { components } from './component.ts';

const REFERENCE = '#/components/schemas/';
const REFERENCES = /"\$ref":"#\/components\/schemas\/([^"]+)"/g;

/** Takes out what zod writes and no reader needs. */
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
