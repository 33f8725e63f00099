/** Verifies an evidence package: its form, the signature, and that the files are those that were signed. */
import {
  AUDIT_FILE,
  type EvidenceFile,
  type EvidenceManifest,
  fileEntry,
  isSigned,
  MANIFEST_FILE,
  parseManifest,
  SIGNATURE_FILE,
} from './manifest.ts';
import { type Archive, readTar, TarFault } from './tar.ts';

export interface VerifiedEvidence {
  readonly manifest: EvidenceManifest;
  readonly audit: Buffer;
}

/** @returns the package; text says why it is not valid */
export function verifyEvidence(
  archive: Archive,
  pinnedKey: string | null,
): VerifiedEvidence | string {
  const kept = new Map<string, Buffer>();
  const found: EvidenceFile[] = [];
  try {
    for (const { name, content } of readTar(archive)) {
      if (name === MANIFEST_FILE || name === SIGNATURE_FILE || name === AUDIT_FILE) {
        kept.set(name, content);
      }
      if (name !== MANIFEST_FILE && name !== SIGNATURE_FILE) found.push(fileEntry(name, content));
    }
  } catch (error) {
    if (error instanceof TarFault) return error.message;
    throw error;
  }
  const [bytes, signature, audit] = [MANIFEST_FILE, SIGNATURE_FILE, AUDIT_FILE].map((name) =>
    kept.get(name),
  );
  if (bytes === undefined || signature === undefined || audit === undefined) {
    return `${MANIFEST_FILE}, ${SIGNATURE_FILE} or ${AUDIT_FILE} is missing`;
  }
  const manifest = parseManifest(bytes);
  if (manifest === null) return `${MANIFEST_FILE} is not a manifest of this version`;
  if (!isSigned(bytes, signature, manifest.public_key)) return 'the signature does not fit';
  if (pinnedKey !== null && pinnedKey !== manifest.public_key) {
    return `it is signed with another key: ${manifest.public_key}`;
  }
  const fault = differenceOf(manifest.files, found);
  return fault ?? { manifest, audit };
}

/** The first difference between the files that were signed and those of the package, in their order. */
function differenceOf(
  signed: readonly EvidenceFile[],
  found: readonly EvidenceFile[],
): string | null {
  for (const [index, { path, bytes, sha256 }] of found.entries()) {
    const wanted = signed[index];
    if (wanted?.path !== path) return `${path} is not in the manifest at this place`;
    if (wanted.bytes !== bytes || wanted.sha256 !== sha256) return `${path} was changed`;
  }
  const missing = signed[found.length];
  return missing === undefined ? null : `${missing.path} is missing`;
}
