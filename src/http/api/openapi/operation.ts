/**
 * The description of one operation in `/openapi.json`. Bodies and queries are the zod objects that routes
 * parse with and are typed by.
 */
import { z } from 'zod';
import { type ErrorCode, SluiceError } from '../../../errors.ts';
import type { JsonObject, JsonValue } from '../../../model/json.ts';
import type { KeyKind } from '../../../model/people.ts';
import type { RuleBook } from '../../../model/rules.ts';
import { statusAnswer } from '../../ingest/ingest-routes.ts';
import { JSON_TYPE, PROBLEM_TYPE, problem } from '../../transport/answers.ts';
import type { Answer } from '../../transport/exchange.ts';
import {
  credentialProblem,
  hex16,
  internalProblem,
  problemBody,
  queryProblem,
  rpcStatus,
} from './component.ts';

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

interface Header {
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

/**
 * The answers that many operations share, as `/openapi.json` describes them: refusals in the form of
 * problem details (RFC 9457) or of google.rpc.Status. Examples are made by the functions that
 * answer.
 */

const RETRY_AFTER: Header = {
  name: 'Retry-After',
  description: 'Seconds to wait before the next attempt.',
  schema: z.int().min(1),
};
const WWW_AUTHENTICATE: Header = {
  name: 'WWW-Authenticate',
  description: 'The authentication scheme to use.',
  schema: z.literal('Bearer'),
};

export const READ = { method: 'GET', auth: 'workspace', hosts: ['base'] } as const;

/** An example of an answer that is made for `JSON.stringify`. */
export const example = (name: string, summary: string, value: unknown): Example => ({
  name,
  summary,
  value: JSON.parse(JSON.stringify(value)) as JsonObject,
});

type ErrorForm = 'problem' | 'status';

export const bodyOfAnswer = ({ body }: Answer) => JSON.parse(String(body)) as JsonObject;

export function errorExample(
  form: ErrorForm,
  code: ErrorCode,
  message: string,
  members: JsonObject = {},
): Example {
  const error = new SluiceError(code, message);
  const answer = form === 'problem' ? problem(error, members) : statusAnswer(error);
  return { name: code, summary: message, value: bodyOfAnswer(answer) };
}

export function errorContent(form: ErrorForm, schema: z.ZodType, examples: Example[]): Content {
  return form === 'problem'
    ? { mediaType: PROBLEM_TYPE, schema, examples }
    : { mediaType: JSON_TYPE, schema: rpcStatus, examples };
}

const kindOf = (kind: KeyKind): string => (kind === 'agent' ? 'an agent key' : 'a workspace key');

function wrongKind(wanted: KeyKind): string {
  const sent = wanted === 'agent' ? 'workspace' : 'agent';
  return `Use ${kindOf(wanted)} here; this request used ${kindOf(sent)}.`;
}

/** An unexpected error; on ingest it is a 503. */
const INTERNAL_ERROR: Record<500, ResponseEntry> = {
  500: {
    description: 'An unexpected error in the server; its log has the id.',
    contents: [
      errorContent('problem', internalProblem, [
        errorExample('problem', 'internal_error', 'The request failed.', {
          id: '0123456789abcdef',
        }),
      ]),
    ],
  },
};

/** The answers that every operation with a key has: 401, 403, 429, 503; outside ingest 400 and 500. */
export function keyAnswers(form: ErrorForm, kind: KeyKind | 'any'): Record<number, ResponseEntry> {
  const content = (schema: z.ZodType, ...examples: Example[]) => [
    errorContent(form, schema, examples),
  ];
  const shared: Record<number, ResponseEntry> = {
    ...(form === 'problem'
      ? { ...badQuery('colour', 'is unknown; there are none here'), ...INTERNAL_ERROR }
      : {}),
    401: {
      description: 'The key is missing, unknown or revoked.',
      headers: [WWW_AUTHENTICATE],
      contents: content(
        credentialProblem,
        errorExample(
          form,
          'missing_credential',
          'Send an API key: Authorization: Bearer <API_KEY>.',
        ),
        errorExample(form, 'invalid_credential', 'The API key is unknown or revoked.'),
      ),
    },
    429: {
      description: 'The key has reached its limit of requests per minute.',
      headers: [RETRY_AFTER],
      contents: content(
        problemBody,
        errorExample(form, 'rate_limited', 'This key is limited to 1000 requests per minute.'),
      ),
    },
    503: {
      description: 'The server cannot answer right now. Try again.',
      headers: [RETRY_AFTER],
      contents: content(
        problemBody,
        errorExample(form, 'store_unavailable', 'The server cannot answer this request right now.'),
      ),
    },
  };
  if (kind === 'any') return shared;
  const example = errorExample(form, 'wrong_key_kind', wrongKind(kind));
  return {
    ...shared,
    403: {
      description: 'A key of the wrong kind.',
      contents: content(credentialProblem, example),
    },
  };
}

export const READ_REFUSALS = keyAnswers('problem', 'workspace');

export function badQuery(path: string, message: string): Record<400, ResponseEntry> {
  const members = { errors: [{ path, message }] };
  const text = 'One or more query parameters are invalid.';
  return {
    400: {
      description: 'The query or the path is invalid; the answer names every fault.',
      contents: [
        errorContent('problem', queryProblem, [
          errorExample('problem', 'bad_query', text, members),
        ]),
      ],
    },
  };
}

export function notFound(message: string): Record<404, ResponseEntry> {
  return {
    404: {
      description: 'Not found in this workspace.',
      contents: [
        errorContent('problem', problemBody, [errorExample('problem', 'not_found', message)]),
      ],
    },
  };
}

export function found(
  description: string,
  schema: z.ZodType,
  examples: Example[],
): Record<200, ResponseEntry> {
  return { 200: { description, contents: [{ mediaType: JSON_TYPE, schema, examples }] } };
}
