/**
 * Builds rules for tests the way the service does: from YAML through parse, classify and own
 * examples. The rules are made up here; no corpus file is used.
 */

import { parseRuleFile } from '../../src/engine/corpus/rule-file.ts';
import { createPatternCompiler } from '../../src/engine/matcher/pattern.ts';
import { classify } from '../../src/engine/rules/classify.ts';
import { tryOwnExamples } from '../../src/engine/rules/own-examples.ts';
import type { Rule } from '../../src/model/rules.ts';

export interface TinyRule {
  readonly id?: string;
  readonly status?: string;
  readonly condition?: string;
  /** [field, pattern] or [field, pattern, operator] */
  readonly conditions: readonly (readonly [string, string, string?])[];
  readonly suppressInCodeBlocks?: boolean;
  /** lines to put at the top level, as `detection_tier: semantic` */
  readonly extra?: string;
  readonly truePositives?: readonly unknown[];
  readonly trueNegatives?: readonly unknown[];
}

/** The YAML of a rule. JSON is YAML, so values need no quoting rules of their own. */
export function tinyYaml(rule: TinyRule): string {
  const conditions = rule.conditions.map(([field, value, operator = 'regex'], index) => ({
    field,
    operator,
    value,
    description: `condition ${index}`,
  }));
  return [
    `title: "A tiny rule"`,
    `id: ${rule.id ?? 'ATR-2026-90001'}`,
    'rule_version: 3',
    `status: ${rule.status ?? 'stable'}`,
    'description: "For tests."',
    'author: nobody',
    "date: '2026/01/02'",
    'severity: high',
    'references: { owasp_llm: ["LLM01:2025"] }',
    `tags: ${JSON.stringify({
      category: 'prompt-injection',
      subcategory: 'direct',
      ...(rule.suppressInCodeBlocks === true && { suppress_in_code_blocks: true }),
    })}`,
    rule.extra ?? '',
    `detection: ${JSON.stringify({ condition: rule.condition ?? 'any', conditions })}`,
    'response: { actions: [alert, block_input] }',
    `test_cases: ${JSON.stringify({
      true_positives: rule.truePositives ?? [],
      // One that every rule passes, because a rule without cases never runs.
      true_negatives: rule.trueNegatives ?? (rule.truePositives === undefined ? [''] : []),
    })}`,
  ].join('\n');
}

/** A rule as the catalogue would list it. */
export function tinyRule(rule: TinyRule): Rule {
  return ruleOfYaml(tinyYaml(rule));
}

export function ruleOfYaml(yaml: string, path = 'rules/prompt-injection/tiny.yaml'): Rule {
  const compile = createPatternCompiler();
  const document = parseRuleFile({ path, bytes: Buffer.from(yaml) });
  return tryOwnExamples(classify(document, compile), document, compile);
}
