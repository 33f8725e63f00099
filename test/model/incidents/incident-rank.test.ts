/** The rank of incidents: each part on both sides of its edges, and what is one line. */
import { describe, expect, test } from 'vitest';
import { rankInPieces } from '../../../src/model/incidents/incident-rank.ts';
import type {
  Incident,
  IncidentFinding,
  IncidentHistory,
} from '../../../src/model/incidents/incidents.ts';
import { finding, place } from './incident-findings.ts';

function rankIncidents(...given: Parameters<typeof rankInPieces>): Incident[] {
  const pieces = rankInPieces(...given);
  let piece = pieces.next();
  while (piece.done !== true) piece = pieces.next();
  return piece.value;
}

const NOTHING: IncidentHistory = { ofRule: () => null, firstAt: () => null };
const fired = (count: number, dismissed = 0): IncidentHistory => ({
  ...NOTHING,
  ofRule: () => ({ fired: count, dismissed }),
});

function one(findings: readonly IncidentFinding[], history = NOTHING) {
  const [incident, ...others] = rankIncidents(findings, history);
  if (incident === undefined || others.length > 0) throw new Error('not one incident');
  return incident;
}

const pointsOf = (part: string, findings: readonly IncidentFinding[], history = NOTHING) =>
  one(findings, history).reasons.find((reason) => reason.part === part)?.points;
const textOf = (part: string, findings: readonly IncidentFinding[], history = NOTHING) =>
  one(findings, history).reasons.find((reason) => reason.part === part)?.text;

test('severity counts, as a sentence', () => {
  expect(pointsOf('severity', [finding({ severity: 'critical' })])).toBe(40);
  expect(pointsOf('severity', [finding({ severity: 'high' })])).toBe(25);
  expect(textOf('severity', [finding({ rule: 'ATR-1' })])).toBe('ATR-1 is of high severity.');
});

test('the rank is about the finding with the most points', () => {
  const noisy = finding({ rule: 'noisy', severity: 'critical' });
  const rare = finding({ rule: 'rare', severity: 'high' });
  const history: IncidentHistory = {
    ...NOTHING,
    ofRule: (_, rule) => ({ fired: rule === 'noisy' ? 50 : 1, dismissed: 0 }),
  };
  expect(one([noisy, rare], history)).toMatchObject({
    ruleId: 'rare',
    severity: 'critical',
    score: 35,
  });
});

test.each([
  [1, 10],
  [2, 5],
  [5, 5],
  [6, 0],
  [20, 0],
  [21, -10],
  [49, -10],
  [50, -20],
])('a rule that fired in %i runs of the agent has %i points', (count, points) => {
  expect(pointsOf('rarity', [finding({})], fired(count))).toBe(points);
});

test('rarity is a sentence', () => {
  const text = (count: number) => textOf('rarity', [finding({ rule: 'ATR-1' })], fired(count));
  expect(text(1)).toBe('ATR-1 fired in no other run or session of this agent in the last 30 days.');
  expect(text(2)).toBe('ATR-1 fired in 2 runs or sessions of this agent in the last 30 days.');
  expect(text(50)).toBe(
    'ATR-1 fired in 50 runs or sessions or more of this agent in the last 30 days.',
  );
});

test.each([
  [10, 0, undefined],
  [10, 1, -5],
  [10, 4, -5],
  [10, 5, -20],
  [2, 1, -5],
  [3, 2, -20],
])('of a rule that fired %i times, %i dismissals have %s points', (count, dismissed, points) => {
  expect(pointsOf('dismissed', [finding({})], fired(count, dismissed))).toBe(points);
});

describe('a chain', () => {
  const act = finding({
    rule: 'act',
    category: 'context-exfiltration',
    places: [place(14, 'agent_output')],
  });
  const from = (surface: 'tool_result' | 'step_input') =>
    finding({ rule: 'injection', places: [place(12, surface)] });

  test('counts where an act follows an injection', () => {
    expect(pointsOf('chain', [from('tool_result'), act])).toBe(40);
    expect(pointsOf('chain', [from('step_input'), act])).toBe(20);
    expect(pointsOf('chain', [from('tool_result')])).toBeUndefined();
    expect(textOf('chain', [from('tool_result'), act])).toBe(
      'An instruction in the tool result of step 12 was followed by an act that fits it, in the ' +
        'agent answer of step 14.',
    );
  });
});

describe('novelty', () => {
  const first = (kinds: readonly string[], at = 0): IncidentHistory => ({
    ...NOTHING,
    firstAt: (kind) => (kinds.includes(kind) ? new Date(at) : null),
  });
  const own = finding({ userId: 'ada', places: [place(1, 'tool_args', { tool: 'bash' })] });

  test('counts for an agent, tool and user whose first finding it has', () => {
    expect(pointsOf('novelty', [own], first(['agent']))).toBe(5);
    expect(pointsOf('novelty', [own], first(['agent', 'tool']))).toBe(10);
    expect(pointsOf('novelty', [own], first(['agent', 'tool', 'user']))).toBe(10);
    expect(textOf('novelty', [own], first(['agent', 'tool', 'user']))).toBe(
      'It has the first finding of this agent, this tool and this user.',
    );
  });

  test('counts no agent that had findings before', () => {
    expect(pointsOf('novelty', [own], first(['agent'], -1))).toBeUndefined();
    expect(pointsOf('novelty', [own])).toBeUndefined();
  });
});

describe('one line', () => {
  const text = (digest: string) => [place(1, 'tool_result', { digest })];

  test('is made of runs of an agent with the same findings', () => {
    const runs = Array.from({ length: 24 }, (_, index) =>
      finding({ runId: `run-${index}`, at: index, places: text('document') }),
    );
    expect(one(runs)).toMatchObject({
      repeats: 24,
      runs: 24,
      findings: 24,
      runId: 'run-23',
      firstSeenAt: new Date(0),
      lastSeenAt: new Date(23 * 60_000),
    });
    const other = finding({ runId: 'run-24', agentName: 'other', places: text('document') });
    const more = finding({ runId: 'run-25', places: text('another document') });
    expect(rankIncidents([...runs, other, more], NOTHING)).toHaveLength(3);
  });

  test('is made of the runs of a session, whose later prompts send the earlier ones again', () => {
    const prompts = [1, 2, 3].map((run) =>
      finding({
        runId: `run-${run}`,
        sessionId: 'session',
        at: run,
        places: [place(run, 'step_input', { at: String(run), digest: 'prompt' })],
      }),
    );
    const incident = one([
      ...prompts,
      finding({
        runId: 'run-3',
        rule: 'act',
        category: 'context-exfiltration',
        sessionId: 'session',
        places: [place(9, 'agent_output', { at: '9' })],
      }),
    ]);
    expect(incident).toMatchObject({ repeats: 1, runs: 3, sessionId: 'session' });
    expect(incident.chain.map(({ runId, role }) => [runId, role])).toEqual([
      ['run-1', 'injection'],
      ['run-3', 'act'],
    ]);
  });
});

test('decided findings do not rank, but where there are no others', () => {
  const closed = finding({ rule: 'closed', severity: 'critical', state: 'closed' });
  const open = finding({ rule: 'open', severity: 'low' });
  expect(one([closed, open])).toMatchObject({
    severity: 'low',
    ruleId: 'open',
    states: { closed: 1, new: 1 },
  });
  expect(one([closed])).toMatchObject({ severity: 'critical', ruleId: 'closed' });
});

test('lines are in the order of their points, then the newest first', () => {
  const runs = [
    finding({ runId: 'a', severity: 'low', at: 3, places: [place(1, 'tool_args')] }),
    finding({ runId: 'b', severity: 'high', at: 1, places: [place(1, 'tool_args')] }),
    finding({ runId: 'c', severity: 'high', at: 2, places: [place(1, 'tool_args')] }),
  ];
  expect(rankIncidents(runs, NOTHING).map(({ runId }) => runId)).toEqual(['c', 'b', 'a']);
});

test('the event loop may turn after every fifty incidents', () => {
  const pausesOf = (runs: number): number => {
    const own = Array.from({ length: runs }, (_, index) =>
      finding({ runId: `run-${index}`, agentName: `agent-${index}` }),
    );
    const pieces = rankInPieces(own, NOTHING);
    let pauses = 0;
    while (pieces.next().done !== true) pauses += 1;
    return pauses;
  };
  expect([49, 50, 149, 150].map(pausesOf)).toEqual([0, 1, 2, 3]);
});
