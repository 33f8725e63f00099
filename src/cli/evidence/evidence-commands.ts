/** `sluice evidence …`: evidence packages, of the local database or a server, verified offline. */
import { closeSync, existsSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import type { Command } from 'commander';
import { z } from 'zod';
import type { EvidenceSubject } from '../../db/findings/evidence.ts';
import { hashEntry } from '../../db/people/audit-chain.ts';
import { OperatorError } from '../../errors.ts';
import { parsePublicKey } from '../../evidence/manifest.ts';
import { verifyEvidence } from '../../evidence/verify.ts';
import { evidenceKey, subjectOf } from '../../http/api/evidence/evidence-routes.ts';
import { paint, plain } from '../../terminal/output.ts';
import { answer, type OutputOptions } from '../answer.ts';
import { withPlaces } from '../command.ts';
import { asOperatorError, parts, withPlace } from '../remote/calls.ts';
import type { PlaceOptions } from '../remote/logins.ts';

interface CreateOptions extends OutputOptions, PlaceOptions {
  readonly finding?: string;
  readonly incident?: string;
  readonly output?: string;
}

/** @throws {OperatorError} unless one subject is named, by the id that the API shows */
function namedSubject({ finding, incident }: CreateOptions): EvidenceSubject {
  if ((finding === undefined) === (incident === undefined)) {
    throw new OperatorError('Name a finding or an incident: --finding ID, or --incident RUN');
  }
  try {
    return finding === undefined
      ? subjectOf({ runId: incident ?? '' })
      : subjectOf({ findingId: finding });
  } catch (error) {
    throw asOperatorError(error);
  }
}

async function writeFile(path: string, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    for await (const chunk of chunks) await file.write(chunk);
  } catch (error) {
    await rm(path);
    throw error;
  } finally {
    await file.close();
  }
}

async function create({ output, ...options }: CreateOptions) {
  const subject = namedSubject(options);
  const path = output ?? `evidence-${subject.id.slice(0, 8)}.tar`;
  if (existsSync(path)) throw new OperatorError(`${path} exists already.`);
  await withPlace(options, async ({ download }) => {
    await writeFile(path, download(`/${subject.kind}s/${subject.id}/evidence`));
    const next = `Wrote ${path}. Verify it: sluice evidence verify ${path}`;
    answer(options, { file: path }, () => next);
  });
}

async function showKey(options: OutputOptions & PlaceOptions) {
  await withPlace(options, async ({ call }) => {
    const key = parts(evidenceKey, await call('/evidence-key'));
    answer(options, key, () => plain(key.public_key));
  });
}

const digest = z
  .string()
  .regex(/^[0-9a-f]{64}$/)
  .transform((hex) => Buffer.from(hex, 'hex'));
const sealedEntry = z.object({
  seq: z.string().regex(/^[1-9]\d{0,17}$/),
  prev_hash: digest,
  hash: digest,
});
const entryContent = z.object({
  workspace_id: z.int(),
  at: z.iso.datetime().transform((text) => new Date(text)),
  actor_user_id: z.int().nullable(),
  actor: z.string(),
  origin: z.string(),
  action: z.string(),
  subject: z.string(),
  before: z.string().nullable(),
  after: z.string().nullable(),
});

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

/** Checks the hashes of a segment of the audit log; returns how many entries have their content, or a fault. */
function checkAudit(lines: Buffer): { readonly entries: number; readonly open: number } | string {
  let last: { readonly seq: string; readonly hash: Buffer } | null = null;
  let open = 0;
  const all = lines.toString().split('\n').slice(0, -1).map(parseLine);
  for (const value of all) {
    const sealed = sealedEntry.safeParse(value);
    if (!sealed.success) return 'an audit entry cannot be read';
    const { seq, prev_hash: prevHash, hash } = sealed.data;
    const follows =
      last === null || (BigInt(seq) === BigInt(last.seq) + 1n && prevHash.equals(last.hash));
    if (!follows) return `audit entry ${seq} does not follow the one before`;
    const content = entryContent.safeParse(value);
    if (content.success) {
      const { workspace_id: workspaceId, actor_user_id: actorUserId, ...own } = content.data;
      if (!hashEntry({ ...own, workspaceId, actorUserId, seq, prevHash }).equals(hash)) {
        return `audit entry ${seq} is not what its hash was made of`;
      }
      open += 1;
    }
    last = { seq, hash };
  }
  return { entries: all.length, open };
}

function pinnedKeyOf(given: string): string {
  const key = parsePublicKey(existsSync(given) ? readFileSync(given, 'utf8') : given);
  if (key !== null) return key;
  throw new OperatorError('--public-key needs an Ed25519 key, as base64 or as a PEM file.');
}

function openPackage(path: string): number {
  try {
    if (!statSync(path).isDirectory()) return openSync(path, 'r');
  } catch (cause) {
    throw new OperatorError(`The package cannot be read: ${path}`, { cause });
  }
  throw new OperatorError(`The package is a folder: ${path}`);
}

function check(path: string, pinnedKey: string | null) {
  const descriptor = openPackage(path);
  try {
    const read = (from: number, bytes: number): Buffer => {
      const buffer = Buffer.alloc(bytes);
      return buffer.subarray(0, readSync(descriptor, buffer, 0, bytes, from));
    };
    const verified = verifyEvidence({ read }, pinnedKey);
    if (typeof verified === 'string') return verified;
    const audit = checkAudit(verified.audit);
    return typeof audit === 'string' ? audit : { ...verified, audit };
  } finally {
    closeSync(descriptor);
  }
}

function describe(
  { manifest, audit }: Exclude<ReturnType<typeof check>, string>,
  isPinned: boolean,
) {
  const { subject, runs, files, left_out: leftOut, does_not_prove: notProven } = manifest;
  const list = (lines: readonly string[]): string[] => lines.map((line) => `  - ${plain(line)}`);
  return [
    `${paint.green('valid')}  ${subject.kind} ${plain(subject.id)} of workspace ${plain(manifest.workspace)}`,
    `  signed at ${plain(manifest.made_at)} by ${plain(manifest.made_by)}, ${files.length} files, ` +
      `${runs.length === 1 ? '1 run' : `${runs.length} runs`}, rules ${plain(manifest.corpus.version)}`,
    `  ${audit.entries} audit entries follow each other, ${audit.open} of them with their content`,
    `  key ${plain(manifest.public_key)}${isPinned ? ', as expected' : ''}`,
    ...(leftOut.length > 0 ? ['Left out:', ...list(leftOut)] : []),
    'Not proven:',
    ...list(notProven),
    ...(isPinned ? [] : ['The key was not compared with one that you know: see --public-key.']),
  ].join('\n');
}

interface VerifyOptions extends OutputOptions {
  readonly publicKey?: string;
}

function verify(path: string, { publicKey, ...options }: VerifyOptions): void {
  const pinnedKey = publicKey === undefined ? null : pinnedKeyOf(publicKey);
  const checked = check(path, pinnedKey);
  if (typeof checked === 'string') {
    process.exitCode = 1;
    answer(
      options,
      { valid: false, why: checked },
      () => `${paint.red('not valid')}  ${plain(checked)}`,
    );
    return;
  }
  const { manifest } = checked;
  answer(options, { valid: true, key_expected: pinnedKey !== null, manifest }, () =>
    describe(checked, pinnedKey !== null),
  );
}

export function addEvidenceCommands(program: Command): void {
  const evidence = program
    .command('evidence')
    .description('signed files of a finding or an incident');
  withPlaces(
    evidence
      .command('create')
      .description(
        'create the evidence package of a finding or an incident; the audit log notes it',
      )
      .option('--finding <id>', 'of this finding')
      .option('--incident <run>', 'of the findings of this run and its session')
      .option('--output <file>', 'file to write; evidence-<id>.tar by default'),
    'evidence create --finding 5f0c2b1e9a7d4c3f8b6a1d2e3f405162',
  ).action(create);
  evidence
    .command('verify')
    .description('verify a package, offline; exit code 1 if it is not valid')
    .argument('<file>')
    .option('--public-key <key>', 'base64 or a PEM file: it must be signed with this key')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      '\nWithout --public-key it checks the package against the key in it, which anybody could have put there.',
    )
    .action(verify);
  const key = evidence.command('key').description('show the public key of a workspace’s packages');
  withPlaces(key, 'evidence key').action(showKey);
}
