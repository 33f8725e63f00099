/**
 * The answers that many operations share, as `/openapi.json` describes them: refusals in the form of
 * problem details (RFC 9457) or of google.rpc.Status. Examples are made by the functions that
 * answer.
 */
import { z } from 'zod';

import { type ErrorCode, SluiceError } from '../../../errors.ts';
import type { JsonObject } from '../../../model/json.ts';
import type { KeyKind } from '../../../model/people.ts';
import { statusAnswer } from '../../ingest/ingest-routes.ts';
import type { Answer } from '../../transport/exchange.ts';
import { JSON_TYPE, PROBLEM_TYPE, problem } from '../../transport/problem.ts';
import {
  credentialProblem,
  internalProblem,
  problemBody,
  queryProblem,
  rpcStatus,
} from './error-schema.ts';
import type { Content, Example, Header, ResponseEntry } from './operation.ts';

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
