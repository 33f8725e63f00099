/**
 * The manifest of an evidence package and its signature: Ed25519 over the bytes of `manifest.json`, which names
 * every other file with its size and SHA-256.
 */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto';
import { z } from 'zod';

export const MANIFEST_FILE = 'manifest.json';
export const SIGNATURE_FILE = 'manifest.sig';
export const AUDIT_FILE = 'audit.jsonl';
export const README_FILE = 'README.txt';

const FORMAT = 'sluice-evidence-1';
/** DER of a private key (PKCS #8, RFC 8410) before its 32 bytes, and of a public one (SPKI). */
const PRIVATE_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');
const PUBLIC_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');
const KEY_BYTES = 32;

/** Limits of the proof, the same in every package. */
export const NOT_PROVEN: readonly string[] = [
  'The signature shows that the files are as this workspace’s key signed them. It does not show when: there is no trusted timestamp, and all times are of the clocks of the senders and of the server.',
  'The operator of the server has the key and the database, and could have made or changed everything in this package before it was signed.',
  'The key is in the package. Unless you compare it with one that you got another way, the package could be signed by anybody.',
  'The records are as the server received them. It does not check that their sender told the truth, or that it sent everything.',
  'A finding says that a text matched a rule. It does not say that an attack happened, or that it had an effect.',
  'The audit entries are a segment of a chain. Only `sluice audit verify` on the server finds that the chain was rewritten or cut off elsewhere.',
];

const Sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const ManifestSchema = z.strictObject({
  format: z.literal(FORMAT),
  made_at: z.iso.datetime(),
  made_by: z.string(),
  workspace: z.string(),
  subject: z.strictObject({ kind: z.enum(['finding', 'incident']), id: z.string() }),
  runs: z.array(z.string()),
  redacted: z.boolean(),
  corpus: z.strictObject({ version: z.string(), identity: z.string(), sha256: z.string() }),
  left_out: z.array(z.string()),
  does_not_prove: z.array(z.string()),
  public_key: z.string(),
  files: z.array(z.strictObject({ path: z.string(), bytes: z.int().min(0), sha256: Sha256 })),
});

export type EvidenceManifest = z.infer<typeof ManifestSchema>;
export type EvidenceFacts = Omit<
  EvidenceManifest,
  'format' | 'does_not_prove' | 'public_key' | 'files'
>;
export type EvidenceFile = EvidenceManifest['files'][number];

export const fileEntry = (path: string, content: Buffer): EvidenceFile => ({
  path,
  bytes: content.length,
  sha256: createHash('sha256').update(content).digest('hex'),
});

function privateKey(seed: Buffer): KeyObject {
  const key = Buffer.concat([PRIVATE_PREFIX, seed]);
  return createPrivateKey({ key, format: 'der', type: 'pkcs8' });
}

/** Returns the public key of a seed: base64 of its DER, as in a PEM file. */
export function publicKeyOf(seed: Buffer): string {
  return createPublicKey(privateKey(seed))
    .export({ format: 'der', type: 'spki' })
    .toString('base64');
}

/** Reads a public key, as base64 or as a PEM file; null for anything but an Ed25519 key. */
export function parsePublicKey(text: string): string | null {
  const base64 = text.replace(/-----(BEGIN|END) PUBLIC KEY-----/g, '').replace(/\s/g, '');
  const der = Buffer.from(base64, 'base64');
  const isKey =
    der.length === PUBLIC_PREFIX.length + KEY_BYTES &&
    der.subarray(0, PUBLIC_PREFIX.length).equals(PUBLIC_PREFIX) &&
    der.toString('base64') === base64;
  return isKey ? base64 : null;
}

export function signManifest(
  facts: EvidenceFacts,
  files: readonly EvidenceFile[],
  seed: Buffer,
): { readonly manifest: Buffer; readonly signature: Buffer } {
  const whole: EvidenceManifest = {
    format: FORMAT,
    ...facts,
    does_not_prove: [...NOT_PROVEN],
    public_key: publicKeyOf(seed),
    files: [...files],
  };
  const manifest = Buffer.from(`${JSON.stringify(whole, null, 2)}\n`);
  return { manifest, signature: sign(null, manifest, privateKey(seed)) };
}

/** Reads a manifest; null when it is not one of this version. */
export function parseManifest(bytes: Buffer): EvidenceManifest | null {
  let json: unknown;
  try {
    json = JSON.parse(bytes.toString());
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
  const parsed = ManifestSchema.safeParse(json);
  return parsed.success && parsePublicKey(parsed.data.public_key) !== null ? parsed.data : null;
}

/** Checks the signature with a key in the form of `publicKeyOf`. */
export function isSigned(manifest: Buffer, signature: Buffer, publicKey: string): boolean {
  const key = Buffer.from(publicKey, 'base64');
  return verify(null, manifest, createPublicKey({ key, format: 'der', type: 'spki' }), signature);
}
