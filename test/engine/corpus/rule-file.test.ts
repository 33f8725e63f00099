import { describe, expect, it } from 'vitest';
import { parseRuleFile } from '../../../src/engine/corpus/rule-file.ts';
import { tinyYaml } from '../tiny-rules.ts';

function parse(yaml: string, path = 'rules/tool-poisoning/ATR-2026-90007-a-name.yaml') {
  return parseRuleFile({ path, bytes: Buffer.from(yaml) });
}

describe('parseRuleFile', () => {
  it('reads a rule', () => {
    const yaml = tinyYaml({
      conditions: [['content', 'a']],
      truePositives: [{ input: 'a' }, 'aa'],
    });
    expect(parse(yaml)).toEqual({
      id: 'ATR-2026-90001',
      title: 'A tiny rule',
      version: '3',
      status: 'stable',
      severity: 'high',
      category: 'prompt-injection',
      subcategory: 'direct',
      description: 'For tests.',
      author: 'nobody',
      date: '2026-01-02',
      references: { owasp_llm: ['LLM01:2025'] },
      methods: [],
      hasFallbackPatterns: false,
      otherMembers: [],
      combination: 'any',
      conditions: [
        {
          field: 'content',
          operator: 'regex',
          value: 'a',
          description: 'condition 0',
          otherMembers: [],
        },
      ],
      suppressInCodeBlocks: false,
      evasionTests: [],
      quality: {
        maturity: null,
        confidence: null,
        wildFpRate: null,
        wildSamples: null,
        wildValidated: null,
        falsePositives: [],
      },
      truePositives: [{ input: 'a' }, { input: 'aa' }],
      trueNegatives: [],
      recommendedActions: ['alert', 'block_input'],
      file: 'rules/tool-poisoning/ATR-2026-90007-a-name.yaml',
      fault: null,
    });
  });

  it('reads the quality that its authors state, and leaves out what is of another kind', () => {
    const stated = (lines: string) =>
      parse(`${tinyYaml({ conditions: [['content', 'a']] })}\n${lines}`).quality;
    expect(
      stated(
        'maturity: test\nconfidence: 57\nwild_fp_rate: 52.58\nwild_samples: 5352\n' +
          'wild_validated: "2026/08/05"\nfalse_positives: ["a", "b"]\n',
      ),
    ).toEqual({
      maturity: 'test',
      confidence: 57,
      wildFpRate: 52.58,
      wildSamples: 5352,
      wildValidated: '2026-08-05',
      falsePositives: ['a', 'b'],
    });
    expect(
      stated('maturity: ripe\nconfidence: high\nwild_fp_rate: 101\nwild_samples: -1\n'),
    ).toMatchObject({ maturity: null, confidence: null, wildFpRate: null, wildSamples: null });
  });

  it('lists a file that is no YAML, with what its lines still say', () => {
    const broken = 'title: "Broken"\nstatus: experimental\nseverity: \'high\'\nx: [\n';
    expect(parse(broken)).toMatchObject({
      id: 'ATR-2026-90007',
      title: 'Broken',
      status: 'experimental',
      severity: 'high',
      category: 'tool-poisoning',
      conditions: [],
      fault: { code: 'invalid_yaml', message: expect.stringContaining('ATR-2026-90007') },
    });
  });

  it('claims least of a file that says nothing', () => {
    expect(parse('[', 'rules/odd.yaml')).toMatchObject({
      id: 'odd',
      title: 'odd',
      status: 'draft',
      severity: 'informational',
    });
  });

  it('lists a file that is YAML but no rule', () => {
    const yaml = tinyYaml({ conditions: [['content', 'a']] }).replace(
      'severity: high',
      'severity: 5',
    );
    expect(parse(yaml).fault).toMatchObject({
      code: 'invalid_rule',
      message: expect.stringContaining('severity'),
    });
  });

  it('does not run what YAML can do beyond JSON', () => {
    const { fault } = parse('x: !!js/function "function () {}"');
    expect(fault).toMatchObject({ code: 'invalid_yaml' });
  });
});
