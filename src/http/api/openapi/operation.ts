/**
 * The description of one operation in `/openapi.json`. Bodies and queries are the zod objects that routes
 * parse with and are typed by.
 */
import type { z } from 'zod';

import type { JsonValue } from '../../../model/json.ts';
import type { KeyKind } from '../../../model/people.ts';
import type { RuleBook } from '../../../model/rules.ts';
import { hex16 } from './component.ts';

export interface ApiSettings {
  readonly baseUrl: string;
  readonly observeUrl: string;
  readonly bareOtlpOnBase: 'gone' | 'serve';
  readonly brand: string;
  readonly version: string;
  readonly maxBodyBytes: number;
  readonly maxDecodedBodyBytes: number;
  /** examples of rules and findings are made from it */
  readonly book: RuleBook;
}

export interface Example {
  /** the answer to a request's example has the request's name */
  readonly name: string;
  readonly summary: string;
  readonly value: JsonValue;
}

export interface Content {
  readonly mediaType: string;
  readonly schema: z.ZodType;
  readonly examples: readonly Example[];
}

export interface Header {
  readonly name: string;
  readonly description: string;
  readonly schema: z.ZodType;
}

export interface ResponseEntry {
  readonly description: string;
  readonly headers?: readonly Header[];
  readonly contents: readonly Content[];
}

/** A parameter in the path or a header; the zod object of a query has its parameters. */
interface ParameterEntry {
  readonly name: string;
  readonly in: 'path' | 'header';
  readonly description: string;
  readonly schema: z.ZodType;
  readonly example?: string;
}

export interface Operation {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly operationId: string;
  readonly tag: string;
  readonly summary: string;
  readonly description: string;
  readonly auth: KeyKind | 'any' | 'none';
  readonly hosts: readonly ('base' | 'observe')[];
  readonly parameters?: readonly ParameterEntry[];
  readonly query?: z.ZodObject;
  /** an example for each parameter of the query that can have a fixed one */
  readonly queryExamples?: Readonly<Record<string, string>>;
  readonly body?: Content & { readonly description: string };
  readonly responses: Readonly<Record<number, ResponseEntry>>;
}

export const idParameter = (name: string, what: string, example: string): ParameterEntry => ({
  name,
  in: 'path',
  description: `${what} Upper case and dashes are taken as well.`,
  schema: hex16(what),
  example,
});
