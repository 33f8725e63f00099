/**
 * Which run a log record without trace id is put into. Pure: no test here touches a database.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LogRuns } from '../../../src/db/telemetry/log-runs.ts';
import type { Hex16 } from '../../../src/model/json.ts';
import type { LogFacts, LogSession, SpanFacts } from '../../../src/model/telemetry.ts';
import { hex16, logFacts, sessionFor, spanFacts } from '../../support/rows.ts';

const WORKSPACE = 7;
const SESSION = hex16(0x5e);
/** 2026-11-20T12:00:00Z, at the beginning of a span of ten minutes */
const NOON_NANO = 1_795_176_000_000_000_000n;
const SECOND = 1_000_000_000n;

function record(
  event: LogSession['event'] | 'end',
  seconds: number,
  { runId = null, key = SESSION }: { runId?: Hex16 | null; key?: Hex16 } = {},
): LogFacts {
  const timeUnixNano = String(NOON_NANO + BigInt(seconds) * SECOND);
  return logFacts({ timeUnixNano, session: sessionFor(event, key, runId) });
}

const prompt = (seconds: number) => record('prompt', seconds);
const text = (seconds: number) => record('text', seconds);

/** The run of each record, or null; all of one request. */
function runsOf(logRuns: LogRuns, ...logs: LogFacts[]): (Hex16 | null)[] {
  const { runs } = logRuns.assign({ spans: [], logs }, WORKSPACE);
  return logs.map((log) => runs.get(log)?.runId ?? null);
}

describe('a record that names its prompt', () => {
  test('belongs to that run, in any process, however it arrives', () => {
    const records = [1, 2, 3].flatMap((run) =>
      [0, 5, 9].map((seconds) =>
        record(seconds === 0 ? 'prompt' : 'text', run * 10 + seconds, { runId: hex16(run) }),
      ),
    );
    const shuffled = fc.shuffledSubarray(records, { minLength: records.length });
    fc.assert(
      fc.property(shuffled, fc.array(fc.nat(8)), fc.boolean(), (logs, cuts, isOneProcess) => {
        const shared = new LogRuns();
        const ends = [...new Set([...cuts, logs.length])].sort((a, b) => a - b);
        ends.forEach((end, index) => {
          const part = logs.slice(ends[index - 1] ?? 0, end);
          const found = runsOf(isOneProcess ? shared : new LogRuns(), ...part);
          expect(found).toEqual(part.map(({ session }) => session?.runId));
        });
      }),
    );
  });

  test('is part of its session', () => {
    const log = record('nothing', 0, { runId: hex16(1) });
    const { runs, marks } = new LogRuns().assign({ spans: [], logs: [log] }, WORKSPACE);
    expect([...runs.values()]).toEqual([{ runId: hex16(1), sessionKey: SESSION }]);
    expect(marks).toEqual([]);
  });
});

describe('a record that names no prompt', () => {
  test('belongs to the latest prompt that is not after it', () => {
    const logRuns = new LogRuns();
    const [first, second] = runsOf(logRuns, prompt(0), prompt(60));
    expect(first).not.toBe(second);
    expect(runsOf(logRuns, text(0), text(59), text(60), text(600))).toEqual([
      first,
      first,
      second,
      second,
    ]);
    expect(runsOf(logRuns, record('nothing', 61))).toEqual([second]);
  });

  test('finds a prompt that comes later in its request, or that names itself', () => {
    const logRuns = new LogRuns();
    const named = record('prompt', 0, { runId: hex16(1) });
    expect(runsOf(logRuns, text(5), named)).toEqual([hex16(1), hex16(1)]);
  });

  test('sent again it belongs to the same run, in the same process and in another', () => {
    const once = runsOf(new LogRuns(), prompt(0), text(5));
    const logRuns = new LogRuns();
    expect(runsOf(logRuns, prompt(0), text(5))).toEqual(once);
    expect(runsOf(logRuns, prompt(0), text(5))).toEqual(once);
  });

  test('belongs to nobody else: another workspace, another session', () => {
    const logRuns = new LogRuns();
    const [run] = runsOf(logRuns, prompt(0));
    const other = record('text', 5, { key: hex16(0x5f) });
    expect(runsOf(logRuns, other)).not.toEqual([run]);
    const { runs } = logRuns.assign({ spans: [], logs: [text(5)] }, WORKSPACE + 1);
    expect([...runs.values()][0]?.runId).not.toBe(run);
  });

  test('before any prompt known here: text by ten minutes, and what has none to no run', () => {
    const [first, same, next] = runsOf(new LogRuns(), text(0), text(599), text(600));
    expect(first).toBe(same);
    expect(next).not.toBe(first);
    expect(runsOf(new LogRuns(), text(1))).toEqual([first]);
    expect(runsOf(new LogRuns(), record('nothing', 1), record('end', 1))).toEqual([null, null]);
    // The session's course does not end such a run: more of it may come over another process.
    const { runs } = new LogRuns().assign({ spans: [], logs: [text(1)] }, WORKSPACE);
    expect([...runs.values()]).toEqual([{ runId: first, sessionKey: null }]);
  });

  test('without any time: one run of its own', () => {
    const timeless = { ...text(0), timeUnixNano: '0', observedUnixNano: '0' };
    const timelessPrompt = { ...prompt(0), timeUnixNano: '0', observedUnixNano: '0' };
    const [run, same] = runsOf(new LogRuns(), timeless, timelessPrompt);
    expect(run).not.toBeNull();
    expect(same).toBe(run);
    const observed = { ...prompt(0), observedUnixNano: prompt(0).timeUnixNano, timeUnixNano: '0' };
    expect(runsOf(new LogRuns(), observed)).toEqual(runsOf(new LogRuns(), prompt(0)));
  });
});

describe('spans of a product whose traces are part of a prompt', () => {
  const span = (seconds: number, runId: Hex16 | null = null): SpanFacts => {
    const startUnixNano = String(NOON_NANO + BigInt(seconds) * SECOND);
    const session = { ...sessionFor('nothing', SESSION, runId), hasTrace: true };
    return spanFacts({ startUnixNano, session });
  };
  const runsOfSpans = (logRuns: LogRuns, ...spans: SpanFacts[]) => {
    const { runs } = logRuns.assign({ spans, logs: [] }, WORKSPACE);
    return spans.map((one) => runs.get(one)?.runId ?? null);
  };

  test('belong to the prompt that they name, or that the span before them names', () => {
    const spans = [span(0, hex16(1)), span(3), span(5, hex16(2)), span(6), span(9, hex16(1))];
    const expected = [1, 1, 2, 2, 1].map(hex16);
    expect(runsOfSpans(new LogRuns(), ...spans)).toEqual(expected);
    const logRuns = new LogRuns();
    expect(spans.flatMap((one) => runsOfSpans(logRuns, one))).toEqual(expected);
  });

  test('many that name one prompt leave room for the others', () => {
    const logRuns = new LogRuns();
    runsOfSpans(logRuns, ...Array.from({ length: 50 }, (_, at) => span(at, hex16(1))));
    runsOfSpans(logRuns, span(60, hex16(2)));
    expect(runsOfSpans(logRuns, span(0), span(70))).toEqual([hex16(1), hex16(2)]);
  });

  test('keep the run of their trace where no prompt is known', () => {
    expect(runsOfSpans(new LogRuns(), span(3))).toEqual([null]);
    const { runs } = new LogRuns().assign(
      {
        spans: [],
        logs: [logFacts({ session: { ...sessionFor('text', SESSION, null), hasTrace: true } })],
      },
      WORKSPACE,
    );
    expect(runs.size).toBe(0);
  });
});

describe('what is remembered', () => {
  test('a few prompts of a session', () => {
    const logRuns = new LogRuns();
    const prompts = Array.from({ length: 12 }, (_, index) => prompt(index * 10));
    const runs = runsOf(logRuns, ...prompts);
    expect(new Set(runs.slice(4)).size).toBe(8);
    expect(runsOf(logRuns, text(45))).toEqual([runs[4]]);
    expect(runsOf(logRuns, text(35))).toEqual(runsOf(new LogRuns(), text(35)));
  });

  test('ten thousand sessions; the one silent longest is forgotten', () => {
    const logRuns = new LogRuns();
    const [kept] = runsOf(logRuns, prompt(0));
    const key = (index: number) => hex16(0x10000 + index);
    const fill = (from: number, to: number) => {
      for (let index = from; index < to; index += 1) {
        runsOf(logRuns, record('prompt', 0, { key: key(index) }));
      }
    };
    fill(0, 9999);
    expect(runsOf(logRuns, text(1))).toEqual([kept]);
    fill(9999, 10_500);
    expect(runsOf(logRuns, text(1))).toEqual([kept]);
    const forgotten = record('text', 1, { key: key(0) });
    expect(runsOf(logRuns, forgotten)).toEqual(runsOf(new LogRuns(), forgotten));
    fill(20_000, 30_000);
    expect(runsOf(logRuns, text(1))).not.toEqual([kept]);
  });
});

describe("marks of the session's course", () => {
  test('the newest of a session, and the newest of another run', () => {
    const named = record('prompt', 0, { runId: hex16(1) });
    const logs = [named, text(1), record('end', 2), record('end', 3), prompt(9)];
    const { marks, runs } = new LogRuns().assign({ spans: [], logs }, WORKSPACE);
    const at = (seconds: number) => prompt(seconds).timeUnixNano;
    expect(marks).toEqual([
      { sessionKey: SESSION, runId: runs.get(logs[4] ?? named)?.runId, atUnixNano: at(9) },
      { sessionKey: SESSION, runId: null, atUnixNano: at(3) },
    ]);
  });

  test('two of a session, however many prompts one request holds', () => {
    const logs = Array.from({ length: 5000 }, (_, index) =>
      record('prompt', 5000 - index, { runId: hex16(index + 1), key: hex16(0x60 + (index % 2)) }),
    );
    expect(new LogRuns().assign({ spans: [], logs }, WORKSPACE).marks).toHaveLength(4);
  });

  test('those two complete what all of them would', () => {
    const runIds = [1, 2, 3].map(hex16);
    const marked = fc.record({
      seconds: fc.nat(9),
      runId: fc.constantFrom(...runIds, null),
    });
    /** Which of the runs, begun at which seconds, are over by these marks. */
    const over = (marks: readonly { runId: string | null; atUnixNano: string }[]) =>
      runIds.flatMap((runId) =>
        Array.from({ length: 10 }, (_, seconds) => prompt(seconds).timeUnixNano).filter((start) =>
          marks.some((mark) => mark.runId !== runId && BigInt(start) < BigInt(mark.atUnixNano)),
        ),
      );
    fc.assert(
      fc.property(fc.array(marked, { minLength: 1, maxLength: 12 }), (list) => {
        const logs = list.map(({ seconds, runId }) =>
          record(runId === null ? 'end' : 'prompt', seconds, { runId }),
        );
        const all = list.map(({ seconds, runId }) => ({
          runId,
          atUnixNano: prompt(seconds).timeUnixNano,
        }));
        expect(over(new LogRuns().assign({ spans: [], logs }, WORKSPACE).marks)).toEqual(over(all));
      }),
    );
  });

  test('none without a time', () => {
    const log = { ...record('end', 0), timeUnixNano: '0', observedUnixNano: '0' };
    expect(new LogRuns().assign({ spans: [], logs: [log] }, WORKSPACE).marks).toEqual([]);
  });
});

test('requests without such records share one empty answer', () => {
  const logRuns = new LogRuns();
  const first = logRuns.assign({ spans: [], logs: [logFacts()] }, WORKSPACE);
  expect(first.runs.size).toBe(0);
  expect(logRuns.assign({ spans: [], logs: [] }, WORKSPACE)).toBe(first);
});
