import { describe, expect, it } from 'vitest';
import { refusal } from '../../../src/engine/rules/effective-set.ts';
import { caseTexts } from '../../../src/engine/rules/own-examples.ts';
import { type TinyRule, tinyRule } from '../tiny-rules.ts';

describe('tryOwnExamples', () => {
  it('passes a rule that keeps its promises', () => {
    const rule = tinyRule({
      conditions: [['user_input', 'attack']],
      truePositives: [{ input: 'an attack' }, { user_input: 'аttаck' }],
      trueNegatives: [{ input: 'peace' }],
    });
    expect(rule.support).toBe('as_written');
    expect(rule.ownExamples).toEqual({ truePositives: 2, trueNegatives: 1, failed: [] });
  });

  it('fails a rule that lost the condition an example needs', () => {
    const rule = tinyRule({
      conditions: [
        ['content', 'a(?=b)'],
        ['content', 'c'],
      ],
      truePositives: [{ input: 'c' }, { input: 'ab' }],
    });
    expect(rule.support).toBe('fails_own_examples');
    expect(rule.ownExamples.failed).toEqual([
      { kind: 'true_positive', index: 1, why: 'no surviving condition matches' },
    ]);
  });

  it('fails a rule that hits what it must not', () => {
    const rule = tinyRule({ conditions: [['content', 'a']], trueNegatives: ['b', 'a'] });
    expect(rule.ownExamples.failed).toEqual([
      { kind: 'true_negative', index: 1, why: 'condition 0 matches' },
    ]);
  });

  it('fails a rule whose example has no surface in a run', () => {
    const rule = tinyRule({
      conditions: [['content', 'attack']],
      truePositives: [{ input: 'an attack' }, { tool_description: 'an attack' }],
      trueNegatives: [{ tool_description: 'peace' }],
    });
    expect(rule.support).toBe('fails_own_examples');
    expect(rule.ownExamples.failed).toEqual([
      { kind: 'true_positive', index: 1, why: 'its text has no surface in a run' },
    ]);
  });

  it('fails a rule that ships no example, and leaves an unsupported one as it is', () => {
    const none = { truePositives: [], trueNegatives: [] };
    const rule = tinyRule({ conditions: [['content', 'attack']], ...none });
    expect(rule.support).toBe('fails_own_examples');
    expect(rule.ownExamples).toEqual({ truePositives: 0, trueNegatives: 0, failed: [] });
    expect(refusal(rule)).toEqual({
      reason: 'fails_own_examples',
      detail: `${rule.id} ships no test cases, so it has passed none on this engine`,
    });
    const one = tinyRule({ conditions: [['content', 'attack']], ...none, trueNegatives: ['b'] });
    expect(one.support).toBe('as_written');
    expect(tinyRule({ conditions: [['content', 'a(?=b)']], ...none }).support).toBe('unsupported');
  });

  it("measures the author's other texts, which decide nothing", () => {
    const rule = tinyRule({
      conditions: [['content', 'attack']],
      truePositives: [{ input: 'an attack' }],
      extra: [
        'evasion_tests:',
        '  - { input: "an аttаck", expected: triggered }',
        '  - { input: "an onslaught", expected: triggered }',
        '  - { input: "an a-t-t-a-c-k", expected: not_triggered }',
        'false_positives: ["A report about an attack", "A chess game"]',
      ].join('\n'),
    });
    expect(rule.support).toBe('as_written');
    expect(rule.measured).toEqual({
      caughtEvasions: { texts: 2, found: 1 },
      otherEvasions: { texts: 1, found: 0 },
      falsePositives: { texts: 2, found: 1 },
    });
  });

  it('does not try an unsupported rule', () => {
    const rule = tinyRule({
      conditions: [['tool_description', 'a']],
      truePositives: [{ tool_description: 'b' }],
    });
    expect(rule).toMatchObject({ support: 'unsupported', ownExamples: { failed: [] } });
  });
});

describe('caseTexts', () => {
  const content: TinyRule['conditions'] = [['content', 'a']];
  const args: TinyRule['conditions'] = [
    ['tool_args', 'a'],
    ['tool_name', 'b'],
  ];
  const response: TinyRule['conditions'] = [
    ['tool_response', 'a'],
    ['user_input', 'b'],
  ];

  it.each([
    [
      'an input, by the fields read',
      { input: 'x' },
      response,
      [
        ['tool_result', 'x'],
        ['step_input', 'x'],
      ],
    ],
    ['an input is never a tool name', { input: 'x' }, args, [['tool_args', 'x']]],
    [
      'a named field',
      { input: 'x', detection_field: 'agent_output' },
      content,
      [['agent_output', 'x']],
    ],
    ['user_input is another word for it', { user_input: 'x' }, args, [['tool_args', 'x']]],
    ['content', { content: 'x' }, content, [['step_input', 'x']]],
    ['a tool description, which no run has', { tool_description: 'x' }, content, []],
    [
      'members with a place',
      { agent_output: 'x', tool_response: 'y' },
      content,
      [
        ['tool_result', 'y'],
        ['agent_output', 'x'],
      ],
    ],
    ['structured arguments', { tool_args: { a: 1 } }, args, [['tool_args', '{"a":1}']]],
    [
      'an input of members',
      { input: { tool_name: 'n', response: 'r' } },
      content,
      [
        ['tool_result', 'r'],
        ['tool_name', 'n'],
      ],
    ],
    [
      'a tool call',
      { tool_call: { name: 'n', args: '{}' } },
      args,
      [
        ['tool_args', '{}'],
        ['tool_name', 'n'],
      ],
    ],
    ['nothing to place', { expected: 'triggered', input: null }, content, []],
  ])('%s', (_name, one, conditions, expected) => {
    const placed = caseTexts(one, tinyRule({ conditions }));
    expect(placed.map(({ surface, text }) => [surface, text])).toEqual(expected);
    expect(placed.every(({ step }) => step === 0)).toBe(true);
  });
});
