/** The bodies of errors: problem details (RFC 9457) outside ingest, google.rpc.Status on it. */
import { z } from 'zod';

import { component } from './component.ts';

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
