import { describe, expect, it } from 'vitest';
import { SURFACES } from '../../../src/model/steps.ts';
import { ruleOfYaml, tinyRule, tinyYaml } from '../tiny-rules.ts';

describe('classify', () => {
  it('runs a rule of plain patterns as written', () => {
    const rule = tinyRule({
      conditions: [
        ['content', 'a'],
        ['tool_args', 'b'],
      ],
    });
    expect(rule.support).toBe('as_written');
    expect(rule.unsupportedReasons).toEqual([]);
    expect(rule.conditions[1]).toEqual({
      index: 1,
      field: 'tool_args',
      surfaces: ['tool_args'],
      operator: 'regex',
      pattern: 'b',
      description: 'condition 1',
      supported: true,
      reason: null,
    });
  });

  it.each([
    ['user_input', ['step_input', 'tool_args']],
    ['tool_response', ['tool_result', 'step_output', 'query_text']],
    ['tool_args', ['tool_args']],
    ['agent_output', ['agent_output']],
    ['tool_name', ['tool_name']],
    ['content', [...SURFACES]],
    ['tool_description', []],
    ['trace.forbid_violation', []],
    ['constructor', []],
  ])('field %s', (field, surfaces) => {
    expect(tinyRule({ conditions: [[field, 'a']] }).conditions[0]?.surfaces).toEqual(surfaces);
  });

  it('degrades an any-rule that lost a condition, and says why', () => {
    const rule = tinyRule({
      conditions: [
        ['content', 'a(?=b)'],
        ['content', 'b'],
      ],
    });
    expect(rule.support).toBe('degraded');
    expect(rule.conditions.map((one) => one.supported)).toEqual([false, true]);
    expect(rule.unsupportedReasons).toMatchObject([{ code: 'lookaround' }]);
  });

  it.each([
    [
      'an any-rule that lost all',
      {
        conditions: [
          ['tool_description', 'a'],
          ['content', '(a)\\1'],
        ],
      },
    ],
    [
      'an all-rule that lost one',
      {
        condition: 'all',
        conditions: [
          ['content', 'a'],
          ['x', 'a'],
        ],
      },
    ],
  ] as const)('does not support %s', (_name, rule) => {
    expect(tinyRule(rule).support).toBe('unsupported');
  });

  it.each([
    ['detection_tier: semantic', 'semantic'],
    ['detection_tier: trace', 'trace'],
    ['detection_tier: behavioral', 'behavioural'],
    ['detection_tier: signature', 'unsupported_method'],
  ])('%s is not a pattern rule', (extra, code) => {
    const rule = tinyRule({ conditions: [['content', 'a']], extra });
    expect(rule.support).toBe('unsupported');
    expect(rule.unsupportedReasons).toMatchObject([{ code }]);
    expect(rule.conditions).toMatchObject([{ supported: false, reason: { code } }]);
  });

  it.each([
    ['"method":"semantic"', 'is declared semantic; its patterns are not run'],
    [
      '"method":"semantic","semantic":{"fallback_method":"pattern"}',
      'is declared semantic; its fallback patterns are not run',
    ],
  ])('says which patterns of a semantic rule are not run: %s', (written, message) => {
    const yaml = tinyYaml({ conditions: [['content', 'a']] });
    const rule = ruleOfYaml(yaml.replace('"condition":"any"', `"condition":"any",${written}`));
    expect(rule.unsupportedReasons).toEqual([{ code: 'semantic', message }]);
  });

  it('reads the method beside the conditions too', () => {
    const yaml = tinyYaml({ conditions: [['content', 'a']] });
    const rule = ruleOfYaml(
      yaml.replace('"condition":"any"', '"condition":"any","method":"trace"'),
    );
    expect(rule.unsupportedReasons).toMatchObject([{ code: 'trace' }]);
  });

  it.each([
    ['another operator', { conditions: [['content', 'a', 'contains']] }, 'unsupported_operator'],
    ['a field without text', { conditions: [['tool_description', 'a']] }, 'no_surface'],
    ['an empty pattern', { conditions: [['content', '']] }, 'invalid_pattern'],
    [
      'an expression',
      { condition: 'a AND b', conditions: [['content', 'a']] },
      'unsupported_combination',
    ],
  ] as const)('%s', (_name, rule, code) => {
    expect(tinyRule(rule).unsupportedReasons).toMatchObject([{ code }]);
  });

  it('lists a broken file as unsupported', () => {
    const rule = ruleOfYaml('x: [', 'rules/model-abuse/ATR-2026-90009.yaml');
    expect(rule).toMatchObject({ id: 'ATR-2026-90009', support: 'unsupported', conditions: [] });
    expect(rule.unsupportedReasons).toMatchObject([{ code: 'invalid_yaml' }]);
  });
});
