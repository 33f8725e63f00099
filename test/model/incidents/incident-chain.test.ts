/** Chains of incidents: order, repeats, and which injection an act fits. */
import { describe, expect, test } from 'vitest';
import { chainOf } from '../../../src/model/incidents/incident-chain.ts';
import { CHAIN_LINKS_MAX } from '../../../src/model/incidents/incidents.ts';
import { finding, place } from './incident-findings.ts';

const shown = (findings: Parameters<typeof chainOf>[0]) =>
  chainOf(findings).links.map(({ step, surface, role }) => [step, surface, role]);

const injection = finding({ rule: 'i', places: [place(12, 'tool_result')] });
const command = finding({
  rule: 'c',
  category: 'excessive-autonomy',
  places: [place(14, 'tool_args', { tool: 'bash' })],
});
const secret = finding({
  rule: 's',
  category: 'context-exfiltration',
  places: [place(15, 'agent_output')],
});

describe('the order', () => {
  test('is that of time, whichever finding is first', () => {
    expect(shown([secret, command, injection])).toEqual([
      [12, 'tool_result', 'injection'],
      [14, 'tool_args', 'act'],
      [15, 'agent_output', null],
    ]);
  });

  test('puts the output of a step with steps in it after them', () => {
    const root = finding({
      rule: 's',
      category: 'context-exfiltration',
      places: [place(1, 'agent_output', { at: '99' })],
    });
    expect(shown([root, injection]).map(([step]) => step)).toEqual([12, 1]);
  });

  test('of texts of one step is that of the texts', () => {
    const first = place(3, 'tool_result', { text: 1 });
    const second = place(3, 'agent_output', { text: 2 });
    expect(shown([finding({ places: [second, first] })]).map(([, surface]) => surface)).toEqual([
      'tool_result',
      'agent_output',
    ]);
  });
});

describe('a link', () => {
  test('has the rules of one surface of a step', () => {
    const other = finding({ rule: 'j', severity: 'critical', places: [place(12, 'tool_result')] });
    const { links } = chainOf([injection, other]);
    expect(links).toHaveLength(1);
    expect(links[0]).toMatchObject({ ruleId: 'j', severity: 'critical', moreRules: 1 });
  });

  test('is not made of a text that is sent again', () => {
    const again = place(20, 'step_input', { digest: 'same' });
    const first = place(12, 'tool_result', { digest: 'same' });
    expect(shown([finding({ places: [first, again] })])).toEqual([[12, 'tool_result', null]]);
  });

  test('is not made of a place that represents others', () => {
    expect(shown([finding({ places: [place(1, 'tool_args', { digest: null })] })])).toEqual([]);
  });

  test('is left out of the middle where there are too many, but never the attack', () => {
    const noise = Array.from({ length: CHAIN_LINKS_MAX }, (_, index) =>
      finding({
        rule: `n${index}`,
        severity: 'critical',
        places: [place(20 + index, 'step_output')],
      }),
    );
    const all = chainOf([injection, command, ...noise]);
    expect(all.links).toHaveLength(CHAIN_LINKS_MAX);
    expect(all.moreLinks).toBe(2);
    expect(all.links.slice(0, 2).map(({ role }) => role)).toEqual(['injection', 'act']);
    expect(chainOf(noise)).toMatchObject({ moreLinks: 0 });
  });
});

describe('an act', () => {
  const roles = (findings: Parameters<typeof chainOf>[0]) =>
    chainOf(findings).links.map(({ role }) => role);

  test('follows its injection', () => {
    const earlier = finding({
      rule: 'c',
      category: 'excessive-autonomy',
      places: [place(11, 'tool_args')],
    });
    expect(roles([injection, earlier])).toEqual([null, null]);
  });

  test('follows untrusted text only', () => {
    const answer = finding({ rule: 'i', places: [place(12, 'agent_output')] });
    expect(roles([answer, command])).toEqual([null, null]);
    const user = finding({ rule: 'i', places: [place(12, 'step_input')] });
    expect(roles([user, command])).toEqual(['injection', 'act']);
  });

  test('fits the category of the injection', () => {
    const manipulated = finding({
      rule: 'm',
      category: 'agent-manipulation',
      places: [place(15, 'agent_output')],
    });
    expect(roles([injection, manipulated])).toEqual(['injection', 'act']);
    const shell = finding({
      rule: 'i',
      category: 'tool-poisoning',
      places: [place(12, 'tool_result')],
    });
    expect(roles([shell, manipulated])).toEqual([null, null]);
    expect(roles([shell, command])).toEqual(['injection', 'act']);
  });

  test('is on a surface that the agent writes', () => {
    const read = finding({
      rule: 'c',
      category: 'excessive-autonomy',
      places: [place(14, 'tool_result')],
    });
    expect(roles([injection, read])).toEqual([null, null]);
    const quoted = finding({
      rule: 'c',
      category: 'excessive-autonomy',
      places: [place(14, 'agent_output')],
    });
    expect(roles([injection, quoted])).toEqual([null, null]);
  });

  test('is not found by a rule that matched before: it matches whatever the agent reads', () => {
    const noisy = finding({
      rule: 'c',
      category: 'excessive-autonomy',
      places: [place(10, 'tool_args'), place(14, 'tool_args')],
    });
    expect(roles([injection, noisy])).toEqual([null, null, null]);
  });
});
