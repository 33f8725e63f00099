/** The ingest endpoints in `/openapi.json`, at their own paths and at OTLP's default paths. */
import { z } from 'zod';
import type { SluiceError } from '../../../errors.ts';
import type { JsonValue } from '../../../model/json.ts';
import type { Signal } from '../../../model/telemetry.ts';
import { DEDUPLICATE_VALUES } from '../../../otlp/deduplicate-header.ts';
import { encodeExportResponse, encodeStatus } from '../../../otlp/responses.ts';
import { ENCODINGS } from '../../ingest/content-encoding.ts';
import {
  BARE_PATHS,
  BASE_PATHS,
  goneBody,
  statusAnswer,
  TYPE_MESSAGE,
} from '../../ingest/ingest-routes.ts';
import { JSON_TYPE } from '../../transport/answers.ts';
import { bodyTooLarge } from '../../transport/exchange.ts';
import { component, gone, rpcStatus } from '../openapi/component.ts';
import {
  type ApiSettings,
  bodyOfAnswer,
  type Example,
  errorContent,
  errorExample,
  keyAnswers,
  type Operation,
  type ResponseEntry,
} from '../openapi/operation.ts';
import { AGENT_RUN, LOG_EVENT, ONE_BAD_SPAN, TOKEN_COUNT } from './otlp-examples.ts';

const PROTOCOL =
  'https://github.com/open-telemetry/opentelemetry-proto/blob/v1.9.0/opentelemetry/proto';

/** A request by its list, with a link to the message that describes the list's items. */
const exportRequest = (signal: string, list: string, folder: string) =>
  component(
    `Export${signal}ServiceRequest`,
    z
      .object({ [list]: z.array(z.looseObject({})).optional() })
      .describe(
        `The message [Export${signal}ServiceRequest](${PROTOCOL}/collector/${folder}/v1/${folder}_service.proto) ` +
          'in JSON: ids are hexadecimal, integers of 64 bits may be strings, and null means the default.',
      ),
  );

export const traceRequest = exportRequest('Trace', 'resourceSpans', 'trace');
const metricsRequest = exportRequest('Metrics', 'resourceMetrics', 'metrics');
const logsRequest = exportRequest('Logs', 'resourceLogs', 'logs');

/** The answer to an export: empty when every record was stored. */
const exportResponse = (signal: string, rejected: string, what: string) =>
  component(
    `Export${signal}ServiceResponse`,
    z
      .object({
        partialSuccess: z
          .object({
            [rejected]: z.string().regex(/^\d+$/).describe(`How many ${what} were set aside.`),
            errorMessage: z
              .string()
              .describe('Each reason with its count and the path of the first.'),
          })
          .optional(),
      })
      .describe(`Empty when all ${what} were stored; the answer comes after the commit.`),
  );

const traceResponse = exportResponse('Trace', 'rejectedSpans', 'spans');
const metricsResponse = exportResponse('Metrics', 'rejectedDataPoints', 'data points');
const logsResponse = exportResponse('Logs', 'rejectedLogRecords', 'log records');

interface SignalFacts {
  /** as operation ids end */
  readonly name: string;
  readonly what: string;
  /** the list at the top of a request */
  readonly list: string;
  readonly request: z.ZodType;
  readonly response: z.ZodType;
  readonly examples: readonly Example[];
  readonly answers: readonly Example[];
}

const toJson = (bytes: Buffer): JsonValue => JSON.parse(String(bytes)) as JsonValue;

function answer(signal: Signal, name: string, summary: string, badSpans = 0): Example {
  const path = 'resourceSpans[0].scopeSpans[0].spans[1].spanId';
  const rejection = { reason: 'bad_span_id', count: badSpans, firstPath: path };
  const rejections = badSpans === 0 ? [] : [rejection];
  return { name, summary, value: toJson(encodeExportResponse({ signal, rejections })) };
}

const FACTS: Readonly<Record<Signal, SignalFacts>> = {
  traces: {
    name: 'Traces',
    what: 'spans',
    list: 'resourceSpans',
    request: traceRequest,
    response: traceResponse,
    examples: [
      { name: 'agent_run', summary: 'A finished run of two steps.', value: AGENT_RUN },
      { name: 'one_bad_span', summary: 'A span without a usable id.', value: ONE_BAD_SPAN },
    ],
    answers: [
      answer('traces', 'agent_run', 'Both spans are stored.'),
      answer('traces', 'one_bad_span', 'The other span is stored.', 1),
    ],
  },
  metrics: {
    name: 'Metrics',
    what: 'data points',
    list: 'resourceMetrics',
    request: metricsRequest,
    response: metricsResponse,
    examples: [{ name: 'token_count', summary: 'A sum of one point.', value: TOKEN_COUNT }],
    answers: [answer('metrics', 'token_count', 'The point is stored.')],
  },
  logs: {
    name: 'Logs',
    what: 'log records',
    list: 'resourceLogs',
    request: logsRequest,
    response: logsResponse,
    examples: [{ name: 'log_event', summary: 'One event.', value: LOG_EVENT }],
    answers: [answer('logs', 'log_event', 'The record is stored.')],
  },
};

const ENCODING = {
  name: 'Content-Encoding',
  in: 'header',
  description: 'Compression of the body. Omit it for an uncompressed body.',
  schema: z.enum(ENCODINGS),
  example: 'identity',
} as const;

const DEDUPLICATE = {
  name: 'Sluice-Deduplicate',
  in: 'header',
  description:
    'With `on`, a request that equals one of the last hour counts as the same one, sent again, and is not stored. ' +
    '`off` for records without ids and times.',
  schema: z.enum(DEDUPLICATE_VALUES),
  example: 'off',
} as const;

function undecodable(list: string): ResponseEntry {
  const message = `${list} must be a JSON array`;
  const violation = { field: list, description: message };
  const example = {
    name: 'undecodable_body',
    summary: 'The structure around the records is invalid.',
    value: toJson(encodeStatus('undecodable_body', message, [violation])),
  };
  return {
    description:
      'The body is not an export request, or PostgreSQL refuses its rows. Do not send it again.',
    contents: [{ mediaType: JSON_TYPE, schema: rpcStatus, examples: [example] }],
  };
}

function tooLarge({ maxBodyBytes }: ApiSettings): Example {
  const error: SluiceError = bodyTooLarge(maxBodyBytes);
  return { name: error.code, summary: error.message, value: bodyOfAnswer(statusAnswer(error)) };
}

function responses(
  { response, answers, what, list }: SignalFacts,
  settings: ApiSettings,
): Record<number, ResponseEntry> {
  const status = (...examples: Example[]) => [errorContent('status', rpcStatus, examples)];
  return {
    200: {
      description: `All rows are committed. \`partialSuccess\` says how many ${what} were rejected, and why.`,
      contents: [{ mediaType: JSON_TYPE, schema: response, examples: answers }],
    },
    400: undecodable(list),
    413: {
      description:
        `More than ${settings.maxBodyBytes} bytes, or ${settings.maxDecodedBodyBytes} ` +
        'after decompression, or too many runs, resources or metrics. Send smaller batches.',
      contents: status(tooLarge(settings)),
    },
    415: {
      description: 'Not JSON, or an unsupported compression.',
      contents: status(errorExample('status', 'unsupported_type', TYPE_MESSAGE)),
    },
    ...keyAnswers('status', 'agent'),
  };
}

function operation(signal: Signal, settings: ApiSettings) {
  const facts = FACTS[signal];
  return {
    method: 'POST',
    tag: 'Ingest',
    auth: 'agent',
    parameters: [ENCODING, DEDUPLICATE],
    body: {
      mediaType: JSON_TYPE,
      schema: facts.request,
      examples: facts.examples,
      description: `An export request with ${facts.what}, in OTLP's JSON form.`,
    },
    responses: responses(facts, settings),
  } as const;
}

function goneAnswer(signal: Signal, { baseUrl, observeUrl }: ApiSettings): ResponseEntry {
  const value = goneBody(signal, observeUrl, baseUrl);
  const example = { name: 'bare_path_gone', summary: value.message, value };
  return {
    description: `On ${baseUrl}: this host serves the signal at another path. Requires no key.`,
    contents: [{ mediaType: JSON_TYPE, schema: gone, examples: [example] }],
  };
}

export function ingestOperations(settings: ApiSettings): Operation[] {
  const signals: readonly Signal[] = ['traces', 'metrics', 'logs'];
  const isGone = settings.bareOtlpOnBase === 'gone';
  return [
    ...signals.map((signal): Operation => {
      const { name, what } = FACTS[signal];
      return {
        ...operation(signal, settings),
        path: BASE_PATHS[signal],
        operationId: `ingest${name}`,
        summary: `Send ${what}`,
        description:
          `Accepts ${what} over OTLP/HTTP with a JSON body and answers once they are committed. ` +
          'Set `OTEL_EXPORTER_OTLP_PROTOCOL=http/json` in the exporter.',
        hosts: ['base'],
      };
    }),
    ...signals.map((signal): Operation => {
      const { name, what } = FACTS[signal];
      const common = operation(signal, settings);
      const gone = isGone ? { 410: goneAnswer(signal, settings) } : {};
      return {
        ...common,
        path: BARE_PATHS[signal],
        operationId: `export${name}`,
        summary: `Send ${what} to OTLP's default path`,
        description:
          `The same as \`${BASE_PATHS[signal]}\`, for exporters that keep their default paths ` +
          `and change the host to ${settings.observeUrl}.` +
          (isGone ? ` On ${settings.baseUrl} it answers 410.` : ''),
        hosts: ['observe', 'base'],
        responses: { ...common.responses, ...gone },
      };
    }),
  ];
}
