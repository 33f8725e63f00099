/**
 * Bodies of exports, for `/openapi.json` only: the published protocol describes requests, and the
 * decoder in `src/otlp/` checks them. Answers are described in full.
 */
import { z } from 'zod';

import { component } from '../openapi/component.ts';

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
export const metricsRequest = exportRequest('Metrics', 'resourceMetrics', 'metrics');
export const logsRequest = exportRequest('Logs', 'resourceLogs', 'logs');

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

export const traceResponse = exportResponse('Trace', 'rejectedSpans', 'spans');
export const metricsResponse = exportResponse('Metrics', 'rejectedDataPoints', 'data points');
export const logsResponse = exportResponse('Logs', 'rejectedLogRecords', 'log records');
