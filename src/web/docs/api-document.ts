/**
 * The part of OpenAPI 3.1 that `/openapi.json` uses: written by `src/http/api/openapi/openapi.ts`, read
 * by the reference page.
 */
import type { JsonValue } from '../../model/json.ts';

/** JSON Schema, draft 2020-12, as far as it is used. */
export interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly format?: string;
  readonly pattern?: string;
  readonly enum?: readonly JsonValue[];
  readonly const?: JsonValue;
  readonly default?: JsonValue;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchema;
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
}

interface ApiExample {
  readonly summary: string;
  readonly value: JsonValue;
}

export interface ApiContent {
  readonly schema: JsonSchema;
  readonly examples?: Readonly<Record<string, ApiExample>>;
}

export interface ApiParameter {
  readonly name: string;
  readonly in: 'query' | 'path' | 'header';
  readonly required: boolean;
  readonly description: string;
  readonly schema: JsonSchema;
  readonly example?: JsonValue;
}

export interface ApiHeader {
  readonly description: string;
  readonly required: boolean;
  readonly schema: JsonSchema;
}

export interface ApiResponse {
  readonly description: string;
  readonly headers?: Readonly<Record<string, ApiHeader>>;
  /** by media type */
  readonly content: Readonly<Record<string, ApiContent>>;
}

export interface ApiServer {
  readonly url: string;
  readonly description: string;
}

export interface ApiOperation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  /** any one of them; empty when no key is needed */
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  /** where it is served, when that is not the document's first server */
  readonly servers?: readonly ApiServer[];
  readonly parameters: readonly ApiParameter[];
  readonly requestBody?: {
    readonly required: true;
    readonly description: string;
    readonly content: Readonly<Record<string, ApiContent>>;
  };
  /** by status */
  readonly responses: Readonly<Record<string, ApiResponse>>;
}

export type ApiMethod = 'get' | 'post';

export interface ApiDocument {
  readonly openapi: string;
  readonly info: {
    readonly title: string;
    readonly version: string;
    readonly summary: string;
    readonly description: string;
    readonly license: { readonly name: string; readonly identifier: string };
  };
  readonly servers: readonly ApiServer[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Partial<Record<ApiMethod, ApiOperation>>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    readonly securitySchemes: Readonly<
      Record<
        string,
        { readonly type: 'http'; readonly scheme: 'bearer'; readonly description: string }
      >
    >;
  };
}
