/** Coverage: every entry of a framework, the rules that refer to it, those that are on, what they found. */
import { expect, test } from 'vitest';
import { createRuleBook } from '../../../src/engine/rules/rule-book.ts';
import { NO_RECORD } from '../../../src/model/findings.ts';
import type { JsonValue } from '../../../src/model/json.ts';
import {
  type Coverage,
  entriesOf,
  frameworkCoverage,
} from '../../../src/model/references/coverage.ts';
import type { RuleStatus } from '../../../src/model/rules.ts';
import { rule } from '../../web/app/fixtures.ts';

const of = (id: string, status: RuleStatus, references: JsonValue) =>
  rule({ id, status, references });

const RULES = [
  of('ATR-2026-00001', 'stable', {
    owasp_llm: ['LLM01:2025'],
    mitre_atlas: ['AML.T0054', 'AML.T0051.000 - Direct', 'AML.T0051.001 - Indirect'],
  }),
  of('ATR-2026-00002', 'experimental', {
    owasp_llm: ['LLM01:2025', 'LLM02:2025'],
    mitre_atlas: ['AML.T0051', 'AML.T9999 - Something New'],
    mitre_attack: ['T1059.006 - Python'],
  }),
];
const SNAPSHOT = { version: '1', date: '2026-01-01', files: 2, sha256: '', identity: '' };
const record = (findings: number) => ({ ...NO_RECORD, findings });
const RECORDS = new Map([
  ['ATR-2026-00001', record(3)],
  ['ATR-2026-00002', record(4)],
]);

const coverage = (experimental: boolean) =>
  frameworkCoverage(
    createRuleBook({ snapshot: SNAPSHOT, rules: RULES }),
    { experimental, overrides: new Map() },
    RECORDS,
  );

function entry(kind: string, id: string, experimental = false): Coverage | undefined {
  const framework = coverage(experimental).find((one) => one.kind === kind);
  return framework && entriesOf(framework).find((one) => one.id === id);
}

test('an entry counts its rules by status, those that are on, and their findings', () => {
  expect(entry('owasp_llm', 'LLM01:2025')).toEqual({
    id: 'LLM01:2025',
    name: 'Prompt Injection',
    rules: 2,
    stable: 1,
    experimental: 1,
    on: 1,
    findings: 7,
  });
  expect(entry('owasp_llm', 'LLM01:2025', true)?.on).toBe(2);
  expect(entry('owasp_llm', 'LLM02:2025')).toMatchObject({ rules: 1, on: 0, findings: 4 });
  expect(entry('owasp_agentic', 'ASI10:2026')).toMatchObject({ rules: 0, on: 0, findings: 0 });
});

test('a technique has the rules of its parts, each once, in every tactic that has it', () => {
  expect(entry('mitre_atlas', 'AML.T0051')).toMatchObject({ rules: 2, findings: 7 });
  const atlas = coverage(false).find(({ kind }) => kind === 'mitre_atlas');
  const tactics = atlas?.groups.filter(({ entries }) =>
    entries.some(({ id, rules }) => id === 'AML.T0054' && rules === 1),
  );
  expect(tactics?.map(({ name }) => name)).toEqual(['Privilege Escalation', 'Defense Evasion']);
  const entries = atlas === undefined ? [] : entriesOf(atlas);
  expect(entries.filter(({ id }) => id === 'AML.T0054')).toHaveLength(1);
});

test('what a framework of this version does not have is listed, with the name that rules give it', () => {
  const atlas = coverage(false).find(({ kind }) => kind === 'mitre_atlas');
  expect(atlas?.groups.at(-1)).toMatchObject({
    name: 'Other',
    entries: [{ id: 'AML.T9999', name: 'Something New', rules: 1 }],
  });
  // A part that alone is referred to gives the whole no name.
  expect(entry('mitre_attack', 'T1059')).toMatchObject({ name: 'T1059', rules: 1 });
});
