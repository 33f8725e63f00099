/** Evidence packages in the read API, the key that signs them, and their operations in `/openapi.json`. */
import { z } from 'zod';
import { type EvidenceSubject, readEvidenceKey } from '../../../db/findings/evidence.ts';
import { SluiceError } from '../../../errors.ts';
import { publicKeyOf } from '../../../evidence/manifest.ts';
import type { StreamedAnswer } from '../../transport/exchange.ts';
import { json } from '../../transport/problem.ts';
import { idOf } from '../../transport/query.ts';
import type { Parameters } from '../../transport/router.ts';
import type { ApiContext } from '../api-context.ts';
import type { AuthorizedHandler } from '../authorized.ts';
import { type BodyOf, component } from '../openapi/component.ts';
import { idParameter, type Operation } from '../openapi/operation.ts';
import { example, found, notFound, READ, READ_REFUSALS } from '../openapi/shared-answers.ts';
import { TRACE_ID } from '../otlp/otlp-examples.ts';
import { evidencePackage, TAR_TYPE } from './evidence-package.ts';

/** @throws {SluiceError} `not_found` */
export function subjectOf({ findingId, runId }: Parameters): EvidenceSubject {
  const id = idOf(findingId ?? runId);
  const kind = findingId === undefined ? 'incident' : 'finding';
  if (id === null) throw new SluiceError('not_found', `This workspace has no such ${kind}.`);
  return { kind, id };
}

/** `GET /platform/v1/risk-findings/{findingId}/evidence` and `GET /platform/v1/incidents/{runId}/evidence` */
export function downloadEvidence(context: ApiContext): AuthorizedHandler<StreamedAnswer> {
  return async (exchange, { workspaceId, keyId }, parameters) => {
    const { clientAddress: origin = 'unknown' } = exchange;
    const reader = { actor: { userId: null, name: `key ${keyId}`, origin }, isKey: true };
    return await evidencePackage(context, exchange, workspaceId, subjectOf(parameters), reader);
  };
}

export const evidenceKey = component(
  'EvidenceKey',
  z
    .object({
      algorithm: z.literal('Ed25519'),
      public_key: z.string().describe('Base64 of the key as in a PEM file (SPKI in DER).'),
    })
    .describe('The public key of a workspace’s evidence packages.'),
);

/** Shows the public key of a workspace. */
export async function evidenceKeyOf(
  { db }: Pick<ApiContext, 'db'>,
  workspaceId: number,
): Promise<string> {
  return publicKeyOf(await db.readFresh(readEvidenceKey, workspaceId));
}

/** `GET /platform/v1/evidence-key` */
export function showEvidenceKey(context: ApiContext): AuthorizedHandler {
  return async (_exchange, { workspaceId }) => {
    const body: BodyOf<typeof evidenceKey> = {
      algorithm: 'Ed25519',
      public_key: await evidenceKeyOf(context, workspaceId),
    };
    return json(body);
  };
}

const TAG = 'Evidence';
const EXAMPLE = {
  algorithm: 'Ed25519',
  public_key: 'MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=',
};

export function evidenceOperations(findingId: string): Operation[] {
  const packageOf = (what: string, runs: string) => ({
    description:
      `One file with ${what}, ${runs} as they were sent, the rules, the history of the triage, a segment of the audit ` +
      'log and a signed manifest: `sluice evidence verify` checks it offline. It names what it leaves out and what it ' +
      'does not prove. The download is in the audit log. A workspace that redacts excerpts gives packages without ' +
      'records and texts.',
  });
  const responses = (missing: string) => ({
    200: {
      description: 'A tar archive.',
      contents: [
        { mediaType: TAR_TYPE, schema: z.string().meta({ format: 'binary' }), examples: [] },
      ],
    },
    ...notFound(missing),
    ...READ_REFUSALS,
  });
  return [
    {
      ...READ,
      ...packageOf('the finding', 'the records of its run'),
      path: '/platform/v1/risk-findings/{findingId}/evidence',
      operationId: 'getFindingEvidence',
      tag: TAG,
      summary: 'Download the evidence package of a finding',
      parameters: [idParameter('findingId', 'Id of a finding.', findingId)],
      responses: responses('This workspace has no such finding.'),
    },
    {
      ...READ,
      ...packageOf('the findings of the run and its session', 'the records of these runs'),
      path: '/platform/v1/incidents/{runId}/evidence',
      operationId: 'getIncidentEvidence',
      tag: TAG,
      summary: 'Download the evidence package of an incident',
      parameters: [idParameter('runId', 'Id of a run of the incident.', TRACE_ID)],
      responses: responses('This workspace has no such run with findings.'),
    },
    {
      ...READ,
      path: '/platform/v1/evidence-key',
      operationId: 'getEvidenceKey',
      tag: TAG,
      summary: 'Read the public key of evidence packages',
      description:
        'Keep it elsewhere: who verifies a package with it knows that this workspace signed it.',
      responses: {
        ...found('The key.', evidenceKey, [example('key', 'A key.', EXAMPLE)]),
        ...READ_REFUSALS,
      },
    },
  ];
}
