/**
 * The file in the data folder that keeps the head of each workspace's audit log: the number and hash of its
 * last entry, by workspace id. One file for each database.
 *
 *   { "database": "<cluster> <name>", "heads": { "<workspace id>": "<number>:<hash>", … } }
 *
 * The file is replaced as a whole: a reader never sees a part of it. The folder is not created.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Queryable } from '../db/database.ts';
import { changedHeads } from '../db/people/audit.ts';
import { type ChainHead, headText, parseHead } from '../db/people/audit-chain.ts';
import { readIdentity } from '../db/server-facts.ts';
import { OperatorError } from '../errors.ts';
import type { Events } from '../observe/events.ts';
import type { StopOrder } from './stop-order.ts';
import { flushUntilStop } from './upkeep.ts';

export type Heads = ReadonlyMap<number, ChainHead>;

/** Hexadecimal digits of a database's identity in the name of its file. */
const NAME_DIGITS = 16;

const content = z.object({ database: z.string(), heads: z.record(z.string(), z.string()) });

export interface HeadsFile {
  readonly path: string;
  /** @throws {OperatorError} when the file has another content */
  readonly read: () => Heads | null;
  readonly hasFolder: () => boolean;
  readonly write: (heads: Heads) => Promise<void>;
}

function parse(text: string, path: string): Heads {
  const unreadable = () =>
    new OperatorError(`${path} does not hold heads of audit logs; delete it`);
  try {
    const entries = Object.entries(content.parse(JSON.parse(text)).heads);
    return new Map(
      entries.map(([id, one]) => {
        const head = parseHead(one);
        if (head === null) throw unreadable();
        return [Number(id), head];
      }),
    );
  } catch (error) {
    throw error instanceof SyntaxError || error instanceof z.ZodError ? unreadable() : error;
  }
}

export async function headsFileOf(dataDir: string, database: Queryable): Promise<HeadsFile> {
  const identity = await readIdentity(database);
  const digits = createHash('sha256').update(identity).digest('hex').slice(0, NAME_DIGITS);
  const path = join(dataDir, `audit-heads-${digits}.json`);
  return {
    path,
    read: () => (existsSync(path) ? parse(readFileSync(path, 'utf8'), path) : null),
    hasFolder: () => existsSync(dataDir),
    write: async (heads) => {
      const texts = [...heads].map(([id, head]) => [id, headText(head)] as const);
      const body = { database: identity, heads: Object.fromEntries(texts) };
      // Several processes may share the folder.
      const draft = `${path}.${process.pid}.new`;
      await rm(draft, { force: true });
      const file = await open(draft, 'wx', 0o600);
      try {
        await file.writeFile(`${JSON.stringify(body, null, 2)}\n`);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(draft, path);
    },
  };
}

/** Interval between two copies of the heads; entries that were cut off before a copy are not noticed. */
export const HEADS_EVERY_MS = 60 * 60_000;
/** Maximum number of workspaces with kept heads, oldest first. */
const HEADS_MAX = 10_000;
const HEADS_LOGGED = 100;

type HeadEvents = Pick<
  Events,
  'auditHeadsChanged' | 'auditHeadsKept' | 'auditHeadsUnkept' | 'auditLogsCut' | 'auditLogsWhole'
>;

/** @param before the result of the last turn, used if the file has no folder */
async function keepHeads(
  database: Queryable,
  file: HeadsFile,
  before: Heads,
  events: HeadEvents,
): Promise<Heads> {
  const hasFolder = file.hasFolder();
  const kept = new Map<number, ChainHead>(hasFolder ? file.read() : before);
  const changed: string[] = [];
  const cut: number[] = [];
  for (const { workspaceId, head, isCut } of await changedHeads(database, kept, HEADS_MAX)) {
    if (isCut) {
      cut.push(workspaceId);
    } else if (head !== null) {
      kept.set(workspaceId, head);
      changed.push(`${workspaceId} ${headText(head)}`);
    }
  }
  for (let at = 0; at < changed.length; at += HEADS_LOGGED) {
    events.auditHeadsChanged(changed.slice(at, at + HEADS_LOGGED));
  }
  if (cut.length > 0) events.auditLogsCut(cut.slice(0, HEADS_LOGGED), file.path);
  else events.auditLogsWhole();
  if (hasFolder && changed.length > 0) await file.write(kept);
  return kept;
}

export function keepAuditHeads(
  database: Queryable,
  dataDir: string,
  events: HeadEvents,
  stops: Pick<StopOrder, 'add'>,
): void {
  let heads: Heads = new Map();
  let fileOf: HeadsFile | null = null;
  const turn = async (): Promise<void> => {
    fileOf ??= await headsFileOf(dataDir, database);
    heads = await keepHeads(database, fileOf, heads, events);
  };
  const ended = { failed: events.auditHeadsUnkept, worked: events.auditHeadsKept };
  flushUntilStop('audit heads', turn, HEADS_EVERY_MS, ended, stops, true);
}
