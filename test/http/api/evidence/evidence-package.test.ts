/** Evidence packages name what they leave out, and are valid without it. */
import { expect, test } from 'vitest';
import type { StoredEvidence } from '../../../../src/db/findings/evidence.ts';
import { UnreadableBlockError } from '../../../../src/db/telemetry/block-codec.ts';
import { SluiceError } from '../../../../src/errors.ts';
import { readTar } from '../../../../src/evidence/tar.ts';
import { verifyEvidence } from '../../../../src/evidence/verify.ts';
import type { ApiContext } from '../../../../src/http/api/authorized.ts';
import { evidencePackage } from '../../../../src/http/api/evidence/evidence-routes.ts';

const RUN = 'cd'.repeat(16);
const MIB = 1024 * 1024;
const NOTHING_CUT = { runs: false, findings: false, history: false, entries: false };

function stored(members: Partial<StoredEvidence>): StoredEvidence {
  return {
    at: new Date('2026-11-28T22:00:00Z'),
    workspace: 'crew',
    isRedacted: false,
    key: Buffer.alloc(32, 7),
    runs: [{ runId: RUN, traces: 1, logs: 0 }],
    findings: [],
    history: [],
    entries: [],
    isCut: NOTHING_CUT,
    ...members,
  };
}

type Chunks = (signal: string) => AsyncGenerator<Buffer>;

/** Makes a package, and returns its files and manifest, valid as it is. */
async function made(evidence: Partial<StoredEvidence>, chunks: Chunks) {
  const slots = { taken: 0 };
  const context = {
    db: { write: async () => stored(evidence) },
    rules: {
      snapshot: { version: '4.0.0', identity: 'e'.repeat(40), sha256: 'f'.repeat(64) },
      references: { idsOf: () => [] },
    },
    runs: {
      exportOtlp: async (_id: number, _runId: string, signal: string) => chunks(signal),
      exportSlots: { take: () => (slots.taken += 1), release: () => (slots.taken -= 1) },
    },
    version: '0.1.0',
    baseUrl: '',
  } as unknown as ApiContext;
  const reader = { actor: { userId: null, name: 'a test', origin: '' }, isKey: true };
  const subject = { kind: 'incident', id: RUN } as const;
  const { chunks: parts } = await evidencePackage(context, { method: 'GET' }, 1, subject, reader);
  const bytes: Buffer[] = [];
  for await (const part of parts) bytes.push(part);
  const whole = Buffer.concat(bytes);
  const read = (from: number, length: number) => whole.subarray(from, from + length);
  const verified = verifyEvidence({ read }, null);
  if (typeof verified === 'string') throw new Error(verified);
  expect(slots.taken).toBe(0);
  const files = new Map([...readTar({ read })].map(({ name, content }) => [name, content]));
  return { files, leftOut: verified.manifest.left_out };
}

async function* lines(number: number, bytes: number): AsyncGenerator<Buffer> {
  for (let line = 0; line < number; line += 1) yield Buffer.from(`${'x'.repeat(bytes - 1)}\n`);
}
const recordsIn = (files: Map<string, Buffer>): Buffer =>
  Buffer.concat([...files].flatMap(([name, part]) => (name.startsWith('runs/') ? [part] : [])));

test('records are cut to files at ends of lines, and nothing of them is lost', async () => {
  const { files, leftOut } = await made({}, () => lines(7, 400_000));
  const parts = [...files].filter(([name]) => name.startsWith('runs/'));
  expect(parts.map(([, { length }]) => length)).toEqual([800_000, 800_000, 800_000, 400_000]);
  expect(parts.at(-1)?.[0]).toBe(`runs/${RUN}/traces-004.jsonl`);
  expect(leftOut).toEqual([]);
});

test('a line that is longer than a file continues in the next one', async () => {
  const { files } = await made({}, () => lines(2, 2.5 * MIB));
  expect(
    recordsIn(files)
      .toString()
      .split('\n')
      .map(({ length }) => length),
  ).toEqual([2.5 * MIB - 1, 2.5 * MIB - 1, 0]);
});

test('records above the limit are left out', async () => {
  const runs = [
    { runId: RUN, traces: 9, logs: 9 },
    { runId: 'ef'.repeat(16), traces: 9, logs: 0 },
  ];
  const { files, leftOut } = await made({ runs }, () => lines(300, MIB));
  expect(recordsIn(files)).toHaveLength(256 * MIB);
  expect(leftOut).toEqual([
    `traces of run ${RUN} from file 257 on, and later ones: 268,435,456 bytes of records at most`,
  ]);
});

test('damaged, deleted and too many records are named', async () => {
  async function* broken(): AsyncGenerator<Buffer> {
    yield Buffer.from('{}\n');
    throw new UnreadableBlockError('b'.repeat(32), 'damaged');
  }
  const gone = () => {
    throw new SluiceError('not_found', 'This workspace has no such run.');
  };
  const runs = [{ runId: RUN, traces: 20_001, logs: 1 }];
  const { leftOut } = await made({ runs }, (signal) => (signal === 'traces' ? broken() : gone()));
  expect(leftOut).toEqual([
    `traces of run ${RUN} after the first 20,000 of 20,001 records`,
    `traces of run ${RUN} from a damaged block on, after file 1`,
    `logs of run ${RUN}: no longer stored`,
  ]);
  expect((await made({}, () => lines(0, 1))).leftOut).toEqual([
    `traces of run ${RUN}: no longer stored`,
  ]);
});

test('what the database cut is named', async () => {
  const isCut = { runs: true, findings: true, history: true, entries: true };
  const { leftOut } = await made({ isCut, runs: [] }, () => lines(0, 1));
  expect(leftOut).toEqual([
    'runs of the session after the first 10',
    'findings after the first 1,000 findings',
    'triage before the newest 2,000 entries',
    'audit entries before the newest 2,000 entries',
  ]);
});

test('another error ends it', async () => {
  const fail = () => {
    throw new Error('no room');
  };
  await expect(made({}, fail)).rejects.toThrow('no room');
});
