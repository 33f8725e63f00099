/**
 * Evidence packages in the read API, the key that signs them, and their operations in `/openapi.json`. A package is made
 * while it is sent: one archive with a finding or an incident, the records of its runs as they were sent, and a signed
 * manifest at the end, which names whatever is left out.
 */

import { Readable } from 'node:stream';
import { z } from 'zod';
import {
  EVIDENCE_ENTRIES_MAX,
  EVIDENCE_FINDINGS_MAX,
  EVIDENCE_HISTORY_MAX,
  EVIDENCE_RUNS_MAX,
  type EvidenceReader,
  type EvidenceRun,
  type EvidenceSubject,
  readEvidenceKey,
  recordEvidence,
  requireEvidence,
  type StoredEvidence,
} from '../../../db/findings/evidence.ts';
import { UnreadableBlockError } from '../../../db/telemetry/block-codec.ts';
import { SluiceError } from '../../../errors.ts';
import {
  AUDIT_FILE,
  type EvidenceFile,
  fileEntry,
  MANIFEST_FILE,
  NOT_PROVEN,
  publicKeyOf,
  README_FILE,
  SIGNATURE_FILE,
  signManifest,
} from '../../../evidence/manifest.ts';
import { TAR_END, tarFile } from '../../../evidence/tar.ts';
import { EXPORTED_STEPS_MAX } from '../../../model/runs.ts';
import { attachment, json } from '../../transport/answers.ts';
import type { Exchange, StreamedAnswer } from '../../transport/exchange.ts';
import { idOf } from '../../transport/input.ts';
import type { Parameters } from '../../transport/router.ts';
import type { ApiContext, AuthorizedHandler } from '../authorized.ts';
import { toFinding } from '../findings/finding-schema.ts';
import { type BodyOf, component } from '../openapi/component.ts';
import {
  example,
  found,
  idParameter,
  notFound,
  type Operation,
  READ,
  READ_REFUSALS,
} from '../openapi/operation.ts';
import { TRACE_ID } from '../otlp/otlp-examples.ts';

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

/** Most bytes of records in a package. */
const EVIDENCE_BYTES_MAX = 256 * 1024 * 1024;
/** Longest file of records. */
const PART_BYTES = 1024 * 1024;

const TAR_TYPE = 'application/x-tar';
const SIGNALS = ['traces', 'logs'] as const;

const many = (number: number, what: string): string => `${number.toLocaleString('en')} ${what}`;
const jsonLines = (values: readonly unknown[]): Buffer =>
  Buffer.from(values.map((value) => `${JSON.stringify(value)}\n`).join(''));

function readme({ kind, id }: EvidenceSubject, { workspace }: StoredEvidence): Buffer {
  return Buffer.from(`Evidence of the ${kind} ${id} in the workspace "${workspace}", made by Sluice.

manifest.json   what this is, what was left out, and the SHA-256 of every other file
manifest.sig    Ed25519 signature of the bytes of manifest.json
findings.jsonl  the findings, as the API shows them
triage.jsonl    who set their states and assignees, and notes, oldest first
rules/          the rules that found them, as the corpus has them
audit.jsonl     a segment of the audit log; entries without content are there by their hashes only
runs/           the records of the runs as they were sent: lines of OTLP/JSON, in the order of their arrival.
                The files of a signal, one after the other, are the download of the run; a long line
                continues in the next file

Verify it, without a server or a database: sluice evidence verify FILE
With a public key that you got another way: sluice evidence verify FILE --public-key KEY

What this package does not prove:
${NOT_PROVEN.map((line) => `- ${line}\n`).join('')}`);
}

/** Triage entries; in a workspace that redacts without the texts of notes, which may quote a customer. */
function triageLines({ history, isRedacted }: StoredEvidence): Buffer {
  return jsonLines(
    history.map(({ findingId, at, actor, kind, before, after }) => ({
      finding_id: findingId,
      at: at.toISOString(),
      actor,
      kind,
      before,
      after: isRedacted && kind === 'note' ? null : after,
    })),
  );
}

function auditLines({ entries }: StoredEvidence): Buffer {
  return jsonLines(
    entries.map(({ isOpen, seq, hash, prevHash, ...entry }) => ({
      seq,
      prev_hash: prevHash.toString('hex'),
      hash: hash.toString('hex'),
      ...(isOpen && {
        workspace_id: entry.workspaceId,
        at: entry.at.toISOString(),
        actor_user_id: entry.actorUserId,
        actor: entry.actor,
        origin: entry.origin,
        action: entry.action,
        subject: entry.subject,
        before: entry.before,
        after: entry.after,
      }),
    })),
  );
}

function cutBy({ isCut, isRedacted, entries }: StoredEvidence): string[] {
  const isSealed = entries.some(({ isOpen }) => !isOpen);
  return [
    isCut.runs && `runs of the session after the first ${EVIDENCE_RUNS_MAX}`,
    isCut.findings && `findings after the first ${many(EVIDENCE_FINDINGS_MAX, 'findings')}`,
    isCut.history && `triage before the newest ${many(EVIDENCE_HISTORY_MAX, 'entries')}`,
    isCut.entries && `audit entries before the newest ${many(EVIDENCE_ENTRIES_MAX, 'entries')}`,
    isSealed &&
      'the content of audit entries about other things, or of all but the last one where the reader may not read the audit log',
    isRedacted && 'records of runs, excerpts, and texts of notes: this workspace redacts excerpts',
  ].filter((line) => line !== false);
}

/** Cuts records to files at the ends of lines, or within a line that is longer than a file. */
async function* partsOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let pending: Buffer = Buffer.alloc(0);
  let damage: UnreadableBlockError | null = null;
  try {
    for await (const chunk of chunks) {
      pending = Buffer.concat([pending, chunk]);
      while (pending.length >= PART_BYTES) {
        const end = pending.lastIndexOf('\n', PART_BYTES - 1) + 1 || PART_BYTES;
        yield pending.subarray(0, end);
        pending = pending.subarray(end);
      }
    }
  } catch (error) {
    if (!(error instanceof UnreadableBlockError)) throw error;
    damage = error;
  }
  if (pending.length > 0) yield pending;
  if (damage !== null) throw damage;
}

interface Named {
  readonly path: string;
  readonly content: Buffer;
}

/** The rules as they were when they found something; a rule of another corpus is left out. */
async function* rulesOf(
  { findings }: StoredEvidence,
  { rules, readRuleFile }: ApiContext,
  leftOut: string[],
): AsyncGenerator<Named> {
  const { identity } = rules.snapshot;
  const byRule = new Map(findings.map((one) => [`${one.ruleId} ${one.corpusIdentity}`, one]));
  for (const { ruleId, corpusVersion, corpusIdentity } of byRule.values()) {
    const rule = corpusIdentity === identity ? rules.find(ruleId) : null;
    if (rule !== null)
      yield { path: `rules/${ruleId}.yaml`, content: await readRuleFile(rule.file) };
    else
      leftOut.push(
        `rule ${ruleId} of corpus ${corpusVersion} (${corpusIdentity}): the server has another corpus now`,
      );
  }
}

interface RecordSource extends Pick<ApiContext, 'runs'> {
  readonly workspaceId: number;
  /** bytes of records that a package may still take */
  readonly left: { bytes: number };
  readonly leftOut: string[];
}

/** The records of one signal of a run, until the package has as many bytes of records as it may have. */
async function* recordsOf(
  run: EvidenceRun,
  signal: (typeof SIGNALS)[number],
  { runs, workspaceId, left, leftOut }: RecordSource,
): AsyncGenerator<Named> {
  const { runId } = run;
  const steps = run[signal];
  const name = `${signal} of run ${runId}`;
  if (steps > EXPORTED_STEPS_MAX) {
    const of = many(steps, 'records');
    leftOut.push(`${name} after the first ${many(EXPORTED_STEPS_MAX, `of ${of}`)}`);
  }
  let part = 0;
  try {
    for await (const content of partsOf(await runs.exportOtlp(workspaceId, runId, signal, false))) {
      left.bytes -= content.length;
      if (left.bytes < 0) {
        leftOut.push(
          `${name} from file ${part + 1} on, and later ones: ${many(EVIDENCE_BYTES_MAX, 'bytes')} of records at most`,
        );
        return;
      }
      part += 1;
      yield { path: `runs/${runId}/${signal}-${String(part).padStart(3, '0')}.jsonl`, content };
    }
    if (part === 0) leftOut.push(`${name}: no longer stored`);
  } catch (error) {
    if (error instanceof UnreadableBlockError) {
      leftOut.push(`${name} from a damaged block on, after file ${part}`);
    } else if (error instanceof SluiceError && error.code === 'not_found') {
      leftOut.push(`${name}: no longer stored`);
    } else throw error;
  }
}

async function* filesOf(
  context: ApiContext,
  workspaceId: number,
  subject: EvidenceSubject,
  stored: StoredEvidence,
  leftOut: string[],
): AsyncGenerator<Named> {
  const links = { baseUrl: context.baseUrl, references: context.rules.references };
  const findings = stored.findings.map((finding) => toFinding(finding, links));
  yield { path: README_FILE, content: readme(subject, stored) };
  yield { path: 'findings.jsonl', content: jsonLines(findings) };
  yield { path: 'triage.jsonl', content: triageLines(stored) };
  yield* rulesOf(stored, context, leftOut);
  yield { path: AUDIT_FILE, content: auditLines(stored) };
  if (stored.isRedacted) return;
  const left = { bytes: EVIDENCE_BYTES_MAX };
  for (const run of stored.runs) {
    for (const signal of SIGNALS) {
      if (left.bytes < 0) return;
      if (run[signal] === 0) continue;
      yield* recordsOf(run, signal, { runs: context.runs, workspaceId, left, leftOut });
    }
  }
}

async function* archiveOf(
  context: ApiContext,
  workspaceId: number,
  subject: EvidenceSubject,
  stored: StoredEvidence,
): AsyncGenerator<Buffer> {
  const { runs, rules, version } = context;
  runs.exportSlots.take(workspaceId);
  try {
    const files: EvidenceFile[] = [];
    const leftOut = cutBy(stored);
    for await (const { path, content } of filesOf(context, workspaceId, subject, stored, leftOut)) {
      files.push(fileEntry(path, content));
      yield tarFile(path, content);
    }
    const { version: corpus, identity, sha256 } = rules.snapshot;
    const facts = {
      made_at: stored.at.toISOString(),
      made_by: `Sluice ${version}`,
      workspace: stored.workspace,
      subject,
      runs: stored.runs.map(({ runId }) => runId),
      redacted: stored.isRedacted,
      corpus: { version: corpus, identity, sha256 },
      left_out: leftOut,
    };
    const { manifest, signature } = signManifest(facts, files, stored.key);
    yield Buffer.concat([
      tarFile(MANIFEST_FILE, manifest),
      tarFile(SIGNATURE_FILE, signature),
      TAR_END,
    ]);
  } finally {
    runs.exportSlots.release(workspaceId);
  }
}

/**
 * Makes a package. The download is in the audit log from then on; HEAD downloads nothing.
 *
 * @throws {SluiceError} `not_found`; as `recordEvidence`
 */
export async function evidencePackage(
  context: ApiContext,
  { method }: Partial<Pick<Exchange, 'method'>>,
  workspaceId: number,
  subject: EvidenceSubject,
  reader: EvidenceReader,
): Promise<StreamedAnswer> {
  const head = {
    contentType: TAR_TYPE,
    headers: attachment(`evidence-${subject.id.slice(0, 8)}.tar`),
  };
  if (method === 'HEAD') {
    await context.db.readFresh(requireEvidence, workspaceId, subject);
    return { ...head, chunks: Readable.from([]) };
  }
  const stored = await context.db.write(recordEvidence, workspaceId, subject, reader);
  return { ...head, chunks: archiveOf(context, workspaceId, subject, stored) };
}
