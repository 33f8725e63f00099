/**
 * Sluice beside the corpus's own reference engine (the npm package's `ATREngine`), on every own
 * example of every rule: both must agree on a rule whose conditions are all supported.
 *
 * The reference runner's conversion of a test case to an event is written here again
 * (`dist/cli.js` of the package, `buildEventFromTestCase`): the case's text goes to the fields its
 * members name, and `input` to what the rule's source type makes the event's content.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AgentEvent, ATREngine, type ATRRule } from 'agent-threat-rules';
import { CORE_SCHEMA, load } from 'js-yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadManifest, type VerifiedCorpus, verifyCorpus } from '../../src/engine/corpus/corpus.ts';
import { type OwnCase, parseRuleFile } from '../../src/engine/corpus/rule-file.ts';
import { createMatcher } from '../../src/engine/matcher/matcher.ts';
import { caseTexts } from '../../src/engine/rules/own-examples.ts';
import type { JsonValue } from '../../src/model/json.ts';
import type { Rule } from '../../src/model/rules.ts';
import { someOf } from '../support/cases.ts';
import { keptMatching } from '../support/kept-catalogue.ts';

const ROOT = join(import.meta.dirname, '../..');

/** Source type of a rule → type of the event that carries its text. */
const EVENT_TYPES: Readonly<Record<string, string>> = {
  llm_io: 'llm_input',
  context_window: 'llm_input',
  memory_access: 'llm_input',
  tool_call: 'tool_call',
  skill_lifecycle: 'tool_call',
  skill_permission: 'tool_call',
  skill_chain: 'tool_call',
  mcp_exchange: 'tool_response',
  agent_behavior: 'agent_behavior',
  multi_agent_comm: 'multi_agent_message',
};
/** The engine knows the first of each kind only. */
const SOURCE_TYPES: Readonly<Record<string, string>> = {
  llm_input: 'llm_io',
  tool_call: 'tool_call',
  tool_response: 'mcp_exchange',
  agent_behavior: 'agent_behavior',
  multi_agent_message: 'multi_agent_comm',
};

type RuleYaml = ATRRule & { readonly agent_source?: { readonly type?: string } };

function text(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function isMap(value: JsonValue | undefined): value is Record<string, JsonValue> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function toEvent(one: OwnCase, type: string): AgentEvent {
  const given = one.input ?? one.user_input;
  const inner = isMap(given) ? given : {};
  const call = isMap(one.tool_call) ? one.tool_call : {};
  const name = text(one.tool_name) || text(call.name) || text(inner.tool_name);
  const args = text(one.tool_args) || text(call.args) || text(inner.tool_args);
  const response = text(one.tool_response) || text(inner.response) || text(inner.tool_response);
  const input = isMap(given) ? args || (response === '' ? text(given) : '') : text(given);
  const output = text(one.agent_output);
  const description = text(one.tool_description);
  const isResponse = type === 'tool_response' && response !== '';
  const content = isResponse
    ? response
    : input || description || text(one.content) || response || output;
  const fields = {
    content,
    agent_message: content,
    user_input: input,
    tool_args: args || input,
    tool_response: response,
    agent_output: output,
    tool_description: description,
  };
  const texts = Object.entries(fields).filter(([, value]) => value !== '');
  return {
    type: type as AgentEvent['type'],
    timestamp: new Date(0).toISOString(),
    content,
    // Always there, or the engine takes the content for a tool's name.
    fields: { ...Object.fromEntries(texts), tool_name: name },
  };
}

/** A case on which the two engines differ. */
interface Difference {
  readonly rule: Rule;
  readonly example: string;
  /** whether its text is only one that no run has: a tool's description */
  readonly isUnplaced: boolean;
}

let corpus: VerifiedCorpus;
let rules: ReadonlyMap<string, Rule>;
let noRules: string;
let cases = 0;
const differences: Difference[] = [];
/** true positives of rules with `suppress_in_code_blocks`, in a fence: by how many engines found */
const fenced = { tried: 0, theirs: 0, ours: 0 };

async function compareRule(rule: Rule, bytes: Buffer): Promise<void> {
  const yaml = load(bytes.toString(), { schema: CORE_SCHEMA }) as RuleYaml;
  const type = EVENT_TYPES[yaml.agent_source?.type ?? ''] ?? 'llm_input';
  const agentSource = { ...yaml.agent_source, type: SOURCE_TYPES[type] };
  const engine = new ATREngine({
    // The engine skips drafts; their examples are tried here.
    rules: [{ ...yaml, status: 'experimental', agent_source: agentSource } as ATRRule],
    rulesDir: noRules,
  });
  await engine.loadRules();
  const failed = new Set(rule.ownExamples.failed.map(({ kind, index }) => `${kind} ${index}`));
  const { truePositives, trueNegatives } = parseRuleFile({ path: rule.file, bytes });
  const compare = (kind: 'true_positive' | 'true_negative', list: readonly OwnCase[]) => {
    list.forEach((one, index) => {
      cases += 1;
      const example = `${kind} ${index}`;
      const ours = (kind === 'true_positive') !== failed.has(example);
      const document = text(one.input ?? one.tool_response ?? one.agent_output);
      const theirs =
        engine.evaluate(toEvent(one, type)).length > 0 ||
        (document !== '' && engine.scanSkill(document).length > 0);
      const isUnplaced = caseTexts(one, rule).length === 0;
      if (ours !== theirs) differences.push({ rule, example, isUnplaced });
    });
  };
  compare('true_positive', truePositives);
  compare('true_negative', trueNegatives);
  if (!rule.suppressInCodeBlocks) return;
  const matcher = createMatcher([rule]);
  const settings = { enabled: () => true, capBytes: 65_536 };
  for (const { input } of truePositives) {
    const quoted = { input: `\`\`\`\n${text(input)}\n\`\`\`\n` };
    fenced.tried += 1;
    fenced.theirs += engine.evaluate(toEvent(quoted, type)).length;
    fenced.ours += matcher.match(caseTexts(quoted, rule), settings).hits.length;
  }
}

beforeAll(async () => {
  corpus = verifyCorpus(
    join(ROOT, 'node_modules/agent-threat-rules'),
    loadManifest(join(ROOT, 'corpus/manifest.json')),
  );
  rules = new Map(keptMatching().catalog.rules.map((rule) => [rule.file, rule]));
  // Given no folder of rules, the engine loads its own, all of them.
  noRules = mkdtempSync(join(tmpdir(), 'sluice-no-rules-'));
  for (const { path, bytes } of corpus.files) {
    const rule = rules.get(path);
    if (rule !== undefined && rule.support !== 'unsupported') await compareRule(rule, bytes);
  }
}, 120_000);

afterAll(() => rmSync(noRules, { recursive: true, force: true }));

const isWhole = (rule: Rule) => rule.conditions.every(({ supported }) => supported);

describe('the reference engine', () => {
  it('is run on every own example of every rule that is tried', () => {
    const tried = [...rules.values()].filter(({ support }) => support !== 'unsupported');
    expect(cases).toBe(
      tried.reduce(
        (sum, { ownExamples }) => sum + ownExamples.truePositives + ownExamples.trueNegatives,
        0,
      ),
    );
    expect(cases).toBeGreaterThan(7000);
  });

  it('agrees on every own example of every rule whose conditions all survive', () => {
    const unexplained = differences.filter(({ rule, isUnplaced }) => isWhole(rule) && !isUnplaced);
    expect(unexplained.map(({ rule, example }) => `${rule.id} ${example}`)).toEqual([]);
  });

  it('finds five rules in a description of a tool, which no run has', () => {
    const unplaced = differences.filter(({ isUnplaced }) => isUnplaced);
    expect([...new Set(unplaced.map(({ rule }) => rule.id))].sort()).toEqual([
      'ATR-2026-00118',
      'ATR-2026-01980',
      'ATR-2026-01981',
      'ATR-2026-01982',
      'ATR-2026-01986',
    ]);
  });

  it('finds no true positive in a fence by a rule that code blocks suppress, and neither do we', () => {
    expect(fenced.tried).toBeGreaterThan(68);
    expect(fenced).toMatchObject({ theirs: 0, ours: 0 });
  });

  it('differs elsewhere only by what a lost condition would have matched, and each is listed', () => {
    for (const { rule, example, isUnplaced } of someOf(differences)) {
      expect(example, rule.id).toMatch(/^true_positive /);
      const [kind, index] = example.split(' ');
      const listed = rule.ownExamples.failed.some(
        (one) => one.kind === kind && one.index === Number(index),
      );
      expect(listed, `${rule.id} ${example}`).toBe(true);
      expect(rule.unsupportedReasons.length > 0, rule.id).toBe(!isUnplaced);
    }
  });

  it('passes what a rule of ours fails: no rule fails by itself, or by our reading of a case', () => {
    const failing = [...rules.values()].filter(({ support }) => support === 'fails_own_examples');
    const failures = failing.flatMap(({ id, ownExamples }) =>
      ownExamples.failed.map(({ kind, index }) => `${id} ${kind} ${index}`),
    );
    const unplaced = differences.filter(({ isUnplaced }) => isUnplaced).map(({ rule }) => rule);
    expect(new Set(failing.filter(isWhole))).toEqual(new Set(unplaced));
    expect(failures.sort()).toEqual(
      differences.map(({ rule, example }) => `${rule.id} ${example}`).sort(),
    );
  });
});
