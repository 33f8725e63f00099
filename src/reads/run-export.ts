/**
 * A run as an OTLP/JSON request that another Sluice, or any OTLP endpoint, takes: streamed slice by
 * slice, made on the thread that takes requests a few milliseconds at a time.
 */
import { findWorkspaceById } from '../db/people/workspaces.ts';
import type { ReadChoice } from '../db/replica/read-choice.ts';
import type {
  ExportedSignal,
  StoredPlace,
  StoredResource,
  StoredSlice,
  StoredStep,
} from '../db/runs/stored-steps.ts';
import { SluiceError } from '../errors.ts';
import type { Hex16 } from '../model/json.ts';
import { SentSpans } from '../model/repeated-spans.ts';
import { RUN_NOT_EXPORTED } from '../model/runs.ts';
import { attributesInPieces, rowsInPieces, valueInPieces } from '../otlp/stored-text.ts';
import type { PieceWork } from './piece-work.ts';
import type { FoundRun, RunSteps } from './run-steps.ts';

/** A slice in memory, and most steps of an export. */
const SLICE = { stepsMax: 200, bytesMax: 1024 * 1024 };
const STEPS_MAX = 20_000;
/** Most characters that are encoded at a time. */
const CHUNK_UNITS = 256 * 1024;

const LISTS = {
  traces: { resources: 'resourceSpans', scopes: 'scopeSpans', records: 'spans' },
  logs: { resources: 'resourceLogs', scopes: 'scopeLogs', records: 'logRecords' },
} as const;

/** How each document of a row is written, and the member of OTLP's JSON that it is. */
const DOCUMENTS: Readonly<
  Record<string, readonly [member: string, write: typeof valueInPieces | null]>
> = {
  name: ['name', null],
  status: ['status', null],
  attributes: ['attributes', attributesInPieces],
  events: ['events', rowsInPieces],
  links: ['links', rowsInPieces],
  event_name: ['eventName', null],
  body: ['body', valueInPieces],
};

const withoutBraces = (members: Readonly<Record<string, unknown>>): string => {
  const set = Object.entries(members).filter(([, value]) => value !== null);
  return JSON.stringify(Object.fromEntries(set)).slice(1, -1);
};

function* stepInPieces({ members, documents }: StoredStep, out: string[]): Generator<void, void> {
  out.push('{', withoutBraces(members));
  for (const [column, text] of Object.entries(documents)) {
    const [member, write] = DOCUMENTS[column] ?? [];
    if (member === undefined) continue;
    out.push(`,"${member}":`);
    if (write === null || write === undefined) out.push(text);
    else yield* write(text, out);
  }
  out.push('}');
  yield;
}

function* resourceInPieces(
  { resource, attributes, scope, scopeAttributes }: StoredResource,
  signal: ExportedSignal,
  out: string[],
): Generator<void, void> {
  const members = withoutBraces(resource);
  out.push(`{"resource":{${members}${members === '' ? '' : ','}"attributes":`);
  yield* attributesInPieces(attributes, out);
  out.push(`},"${LISTS[signal].scopes}":[{"scope":{${withoutBraces(scope)},"attributes":`);
  yield* attributesInPieces(scopeAttributes, out);
  out.push(`},"${LISTS[signal].records}":[`);
}

/** Closes the lists of a resource; the schemas come last in OTLP's messages. */
function endOf({ schemaUrl, scopeSchemaUrl }: StoredResource): string {
  const schema = (url: string): string => (url === '' ? '' : `,"schemaUrl":${JSON.stringify(url)}`);
  return `]${schema(scopeSchemaUrl)}}]${schema(schemaUrl)}}`;
}

/** Steps of one resource that follow each other are one element of the request. */
function* sliceInPieces(
  { steps, resources }: StoredSlice,
  signal: ExportedSignal,
): Generator<void, string[]> {
  const out: string[] = [];
  const byId = new Map(resources.map((one) => [one.id, one]));
  let current: StoredResource | undefined;
  for (const step of steps) {
    const own = byId.get(step.resourceId);
    if (own === undefined) continue;
    if (own === current) out.push(',');
    else {
      if (current !== undefined) out.push(endOf(current), ',');
      yield* resourceInPieces(own, signal, out);
      current = own;
    }
    yield* stepInPieces(step, out);
  }
  if (current !== undefined) out.push(endOf(current));
  return out;
}

/** A slice without spans that repeat one before. */
function withoutRepeats(slice: StoredSlice, sent: SentSpans<true>): StoredSlice {
  const steps = slice.steps.filter(({ members: { traceId, spanId }, content }) => {
    if (content === null) return true;
    return sent.repeatedBy(true, String(traceId), String(spanId), content) === null;
  });
  return { ...slice, steps };
}

/** The parts as buffers of bounded size. */
function* chunksOf(parts: readonly string[]): Generator<Buffer> {
  let waiting = '';
  for (const part of parts) {
    for (let from = 0; from < part.length; from += CHUNK_UNITS) {
      const isPair = /[\ud800-\udbff]$/.test(waiting);
      if (waiting.length >= CHUNK_UNITS && !isPair) {
        yield Buffer.from(waiting);
        waiting = '';
      }
      waiting += part.slice(from, from + CHUNK_UNITS);
    }
  }
  if (waiting !== '') yield Buffer.from(waiting);
}

interface Shared {
  readonly turns: PieceWork;
  /** counts the running exports; `take` throws where another one is too much */
  readonly slots: Readonly<Record<'take' | 'release', (workspaceId: number) => void>>;
}

/** Exports runs of workspaces that do not redact. */
export function createRunExporter(
  { find }: Pick<ReadChoice, 'find'>,
  steps: RunSteps,
  { turns, slots }: Shared,
) {
  async function* chunks(run: FoundRun, signal: ExportedSignal): AsyncGenerator<Buffer> {
    const { workspaceId } = run;
    slots.take(workspaceId);
    try {
      yield Buffer.from(`{"${LISTS[signal].resources}":[`);
      let after: StoredPlace | null = null;
      let count = 0;
      let isFirst = true;
      const sent = new SentSpans<true>();
      do {
        const slice: StoredSlice = await steps.slice(run, signal, SLICE, after);
        const pieces = sliceInPieces(withoutRepeats(slice, sent), signal);
        const parts = await turns.takeInPieces(workspaceId, pieces, SLICE.bytesMax);
        if (!isFirst && parts.length > 0) parts.unshift(',');
        isFirst &&= parts.length === 0;
        yield* chunksOf(parts);
        count += slice.steps.length;
        after = slice.next;
      } while (after !== null && count < STEPS_MAX);
      yield Buffer.from(']}');
    } finally {
      slots.release(workspaceId);
    }
  }

  return {
    exportOtlp: async (workspaceId: number, runId: Hex16, signal: ExportedSignal) => {
      const found = await steps.find(workspaceId, runId);
      if (found === null) throw new SluiceError('not_found', 'This workspace has no such run.');
      const workspace = await find({ workspaceId }, (db) => findWorkspaceById(db, workspaceId));
      if (workspace?.redactExcerpts !== false) throw new SluiceError('conflict', RUN_NOT_EXPORTED);
      return chunks(found, signal);
    },
  };
}
