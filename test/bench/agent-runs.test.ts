/** Agent runs for the benchmarks: what the product reads of them, and how large they are. */
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from 'vitest';
import {
  AGENT_DATA,
  MODEL_CALLS,
  notMeasured,
  RUN_DATA,
  type RunData,
} from '../../bench/agent-runs/data.ts';
import {
  runBody,
  runLogBody,
  SHAPES,
  spansPerRun,
  wholeRunsBody,
} from '../../bench/agent-runs/runs.ts';
import { serviceOf } from '../../bench/agent-runs/services.ts';
import { encodeRow } from '../../bench/row-tables/copy-bytes.ts';
import { rowsOf } from '../../bench/row-tables/rows.ts';
import { ROW_TABLES } from '../../bench/row-tables/tables.ts';
import { parseScanInput } from '../../src/cli/scan-input.ts';
import { LogRuns } from '../../src/db/telemetry/log-runs.ts';
import { extractSteps } from '../../src/engine/surfaces/reader/extract.ts';
import type { Step, SurfaceText } from '../../src/model/steps.ts';
import type { Signal } from '../../src/model/telemetry.ts';
import { someOf } from '../support/cases.ts';
import { scanOrNull } from '../support/decoding.ts';

const SEED = 12;
/** Every shape with every length of run, by the seeds that give the shape. */
const RUNS = SHAPES.flatMap(({ name }, shape) =>
  AGENT_DATA.map((data) => ({ name, data, seed: SEED + shape })),
);

function stepsOf(body: Buffer): readonly Step[] {
  const input = parseScanInput(body);
  if (input.kind !== 'runs') throw new Error('no export');
  expect(input.rejections).toEqual([]);
  expect(input.runs.size).toBe(1);
  return [...input.runs.values()].flat();
}

const textsOn = (
  texts: readonly Pick<SurfaceText, 'surface' | 'text'>[],
  ...surfaces: SurfaceText['surface'][]
): string[] => texts.filter(({ surface }) => surfaces.includes(surface)).map(({ text }) => text);

/** The longest text that a tool returned: beside it are the JSON around it, and its short members. */
const longest = (texts: readonly string[]): string =>
  texts.filter((text) => !/^[{["]/.test(text)).sort((a, b) => b.length - a.length)[0] ?? '';

describe.each(RUNS)('$name, $data', ({ data, seed }) => {
  const steps = stepsOf(wholeRunsBody(data, seed, 1));
  const read = [...extractSteps(steps)];
  const ofKind = (kind: string) => read.filter((one) => one.kind === kind);

  test('a run has its agent, its model calls, and a tool call between them', () => {
    const calls = MODEL_CALLS[data];
    expect(ofKind('agent')).toHaveLength(1);
    expect(ofKind('llm')).toHaveLength(calls);
    expect(ofKind('tool')).toHaveLength(calls - 1);
    expect(read).toHaveLength(spansPerRun(data));
    expect(read.map(({ kind }) => kind).join(' ')).toBe(
      `agent llm${' tool llm'.repeat(calls - 1)}`,
    );
  });

  test('the last model call has the whole conversation', () => {
    const last = ofKind('llm').at(-1)?.texts ?? [];
    const [inputs, answer] = [textsOn(last, 'step_input'), textsOn(last, 'agent_output')];
    const agent = ofKind('agent')[0]?.texts ?? [];
    expect(inputs).toEqual(textsOn(agent, 'step_input'));
    expect(answer).toEqual(expect.arrayContaining(textsOn(agent, 'agent_output')));
    for (const { texts } of ofKind('llm').slice(0, -1)) {
      expect(answer).toEqual(expect.arrayContaining(textsOn(texts, 'agent_output')));
    }
    for (const { texts } of ofKind('tool')) {
      expect(textsOn(last, 'tool_name')).toContain(textsOn(texts, 'tool_name')[0]);
      const own = longest(textsOn(texts, 'tool_result'));
      expect(own.length).toBeGreaterThan(20);
      expect(textsOn(last, 'tool_result')).toContain(own);
    }
  });

  test('every text is read, and no text of the operator', () => {
    expect(read.flatMap((one) => one.unreadKeys())).toEqual([]);
    const { system, tools } = serviceOf(seed);
    const all = read.flatMap(({ texts }) => texts.map(({ text }) => text)).join('\n');
    expect(all).not.toContain(system.split('\n')[0]);
    for (const { description } of tools) expect(all).not.toContain(description);
  });

  test('each model call has the system prompt and the tools of the service', () => {
    const { system, tools } = serviceOf(seed);
    const [first = ''] = system.split('\n');
    const models = steps.filter((_, index) => read[index]?.kind === 'llm');
    for (const { attributes } of someOf(models)) {
      const all = JSON.stringify(attributes);
      expect(all).toContain(first.replaceAll('"', '').slice(0, 30));
      for (const { description } of tools) expect(all).toContain(description);
    }
  });

  test('children are within their agent, one after the other', () => {
    const [agent, ...children] = steps;
    let before = agent?.startUnixNano ?? '';
    for (const { parentSpanId, startUnixNano, endUnixNano } of children) {
      expect(parentSpanId).toBe(agent?.spanId);
      expect(BigInt(startUnixNano)).toBeGreaterThanOrEqual(BigInt(before));
      expect(BigInt(endUnixNano)).toBeGreaterThan(BigInt(startUnixNano));
      before = endUnixNano;
    }
    expect(BigInt(agent?.endUnixNano ?? 0)).toBeGreaterThanOrEqual(BigInt(before));
    expect(new Set(steps.map(({ spanId }) => spanId)).size).toBe(steps.length);
  });
});

test.each(AGENT_DATA)('%s as log records: a model call each, with its trace and texts', (data) => {
  const steps = stepsOf(runLogBody(data, 0, MODEL_CALLS[data]));
  const read = [...extractSteps(steps)];
  expect(read.map(({ kind }) => kind)).toEqual(steps.map(() => 'llm'));
  expect(read.flatMap((one) => one.unreadKeys())).toEqual([]);
  const last = read.at(-1)?.texts ?? [];
  for (const { texts } of read) {
    expect(textsOn(last, 'step_input')).toEqual(textsOn(texts, 'step_input'));
    expect(textsOn(last, 'agent_output', 'tool_result')).toEqual(
      expect.arrayContaining(textsOn(texts, 'agent_output', 'tool_result')),
    );
  }
});

test('of requests to a service only the statements are read', () => {
  const steps = stepsOf(wholeRunsBody('plain', SEED, 1));
  expect(steps).toHaveLength(spansPerRun('plain'));
  const read = [...extractSteps(steps)];
  expect(read.map(({ kind }) => kind)).toEqual(steps.map(() => 'other'));
  const statements = steps.flatMap(({ attributes }) => attributes['db.query.text'] ?? []);
  expect(statements.length).toBeGreaterThan(0);
  const texts = read.flatMap((one) => one.texts);
  expect(textsOn(texts, 'query_text')).toEqual(statements);
  expect(texts).toHaveLength(statements.length);
  expect(read.flatMap((one) => one.unreadKeys())).toEqual([]);
});

describe('a body', () => {
  interface Export {
    readonly resourceSpans: { readonly scopeSpans: { readonly spans: object[] }[] }[];
  }
  const spansIn = (body: Buffer) =>
    (JSON.parse(body.toString()) as Export).resourceSpans.flatMap(({ scopeSpans }) =>
      scopeSpans.flatMap(({ spans }) => spans),
    );

  test.each(RUN_DATA)('of %s is the same for the same seed, and another for another', (data) => {
    expect(runBody(data, 3, 20).equals(runBody(data, 3, 20))).toBe(true);
    const ids = new Set(
      [3, 4, 15, 16]
        .flatMap((seed) => spansIn(runBody(data, seed, 20)))
        .map((one) => ('spanId' in one ? one.spanId : null)),
    );
    expect(ids.size).toBe(80);
  });

  test.each(RUN_DATA)('of %s begins where the one before in its stream ended', (data) => {
    const streams = SEED;
    const both = [5, 5 + streams].flatMap((seed) => spansIn(runBody(data, seed, 7)));
    expect(isDeepStrictEqual(spansIn(runBody(data, 5, 14)), both)).toBe(true);
  });
});

test('a result says which data it lacks, until all are measured', () => {
  expect(notMeasured(['100 spans', 'conv3, AI SDK'])).toBe(
    'Not measured yet: plain, conv10, conv30.',
  );
  expect(notMeasured(RUN_DATA.map((data) => `${data}, 100 spans`))).toBe('');
});

describe('sizes', () => {
  /** Bytes of a row on its way to PostgreSQL: the sizes that storage was designed for. */
  const WANTED: Readonly<Record<Exclude<RunData, 'conv3'>, number>> = {
    plain: 559,
    conv10: 11_200,
    conv30: 22_700,
  };
  const FACTOR_MAX = 1.5;
  const ROWS = 60;

  function rowBytes(signal: Signal, bodies: readonly Buffer[], rows: number): number {
    const context = () => ({ workspaceId: 1, arrivedAtMs: 0, logRuns: new LogRuns() });
    const sizes = bodies.map((body) => {
      expect(scanOrNull(signal, body, context())?.ok).toBe(true);
      const stored = [...rowsOf(signal, JSON.parse(body.toString()), '2026-11-20')];
      expect(stored).toHaveLength(rows);
      return stored.reduce((sum, row) => sum + encodeRow(ROW_TABLES[signal], row).length, 0);
    });
    return sizes.reduce((sum, size) => sum + size, 0) / bodies.length / rows;
  }

  test.each(Object.entries(WANTED))('a span of %s has about %d bytes', (name, wanted) => {
    const data = name as keyof typeof WANTED;
    const bodies = Array.from({ length: SEED }, (_, seed) => runBody(data, seed, ROWS));
    const bytes = rowBytes('traces', bodies, ROWS);
    expect(bytes).toBeGreaterThan(wanted / FACTOR_MAX);
    expect(bytes).toBeLessThan(wanted * FACTOR_MAX);
  });
});
