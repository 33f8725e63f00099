/**
 * JSON of tools is matched as its reader sees it: escapes inside strings are resolved, names and quotes
 * stay. What a person typed, and what is no JSON, is matched as it was written.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { evaluateRun } from '../../src/engine/evaluate.ts';
import { createMatcher } from '../../src/engine/matcher/matcher.ts';
import { createPatternCompiler } from '../../src/engine/matcher/pattern.ts';
import { createFastMatcher } from '../../src/engine/prefilter/fast-matcher.ts';
import { runnableRules } from '../../src/engine/rules/effective-set.ts';
import { resolveJson } from '../../src/engine/surfaces/reader/json-escapes.ts';
import type { JsonValue } from '../../src/model/json.ts';
import type { Step } from '../../src/model/steps.ts';
import { keptMatching } from '../support/kept-catalogue.ts';
import { operation } from './steps.ts';
import { extractSurfaces } from './surfaces/extract-surfaces.ts';
import { tinyRule } from './tiny-rules.ts';

const settings = { surfaceCapBytes: 65_536, excerptChars: 40 };

function findings(pattern: string, step: Step) {
  const rules = [tinyRule({ conditions: [['content', pattern]] })];
  const found = evaluateRun([step], createMatcher(rules), () => true, settings);
  expect(evaluateRun([step], createFastMatcher(rules), () => true, settings)).toEqual(found);
  return found.findings;
}

const args = (value: JsonValue) =>
  operation('execute_tool', { 'gen_ai.tool.call.arguments': value });
const result = (value: JsonValue) =>
  operation('execute_tool', { 'gen_ai.tool.call.result': value });
const typed = (text: string) =>
  operation('chat', { 'gen_ai.input.messages': [{ role: 'user', content: text }] });
const called = (value: JsonValue) =>
  operation('chat', {
    'gen_ai.output.messages': JSON.stringify([
      { role: 'assistant', parts: [{ type: 'tool_call', name: 'write', arguments: value }] },
    ]),
  });

/** Two line ends, a quote and a tab, which JSON escapes; and a backslash of the code itself. */
const CODE = 'const x = require("./x");\n\n\tx.split("\\n");\n';
const ESCAPED = String.raw`\\n\\n|\\"\./x|\\t`;

describe.each<[string, (value: JsonValue) => Step]>([
  ['arguments', args],
  ['a result', result],
  ['a call in a message', called],
])('%s', (_name, step) => {
  it.each<[string, JsonValue]>([
    ['a structure', { code: CODE, path: '/x' }],
    ['JSON', JSON.stringify({ code: CODE, path: '/x' })],
    ['JSON in JSON', JSON.stringify(JSON.stringify({ code: CODE }))],
    ['JSON in a member', { input: JSON.stringify({ code: CODE }) }],
    ['JSON in a member in JSON', JSON.stringify({ input: JSON.stringify([{ code: CODE }]) })],
    ['JSON that was cut', JSON.stringify({ code: CODE, path: '/x' }).slice(0, -6)],
  ])('%s', (_form, value) => {
    expect(findings(ESCAPED, step(value))).toEqual([]);
    const hits = findings(
      String.raw`"code"\s*:\s*"const x = require\("\./x"\);\n\n\tx\.split\("\\n"\)`,
      step(value),
    );
    expect(hits).toHaveLength(1);
    const [{ place } = { place: null }] = hits;
    const text = extractSurfaces([step(value)]).texts[place?.text ?? -1]?.text;
    expect(text?.slice(place?.match.start, place?.match.end)).toMatch(/^"code".*\\n"\)$/s);
  });

  it.each<[string, JsonValue]>([
    ['no JSON', `{code: ${JSON.stringify(CODE)}}`],
    ['a Python repr', String.raw`{'code': 'a\n\nb'}`],
    [
      'JSON in the fourth string',
      JSON.stringify([JSON.stringify([JSON.stringify([JSON.stringify([CODE])])])]),
    ],
  ])('%s keeps its escapes', (_form, value) => {
    expect(findings(ESCAPED, step(value))).toHaveLength(1);
  });
});

it('keeps the escapes that a person typed', () => {
  expect(findings(ESCAPED, typed(JSON.stringify({ code: CODE })))).toHaveLength(1);
  expect(
    findings(String.raw`require\("\./x"\);\n\n\tx`, typed(JSON.stringify({ code: CODE }))),
  ).toHaveLength(1);
});

describe('resolveJson', () => {
  /** JSON whose strings are not escaped. */
  const unescaped = (value: unknown): string => {
    if (typeof value === 'string') return `"${value}"`;
    if (Array.isArray(value)) return `[${value.map(unescaped).join()}]`;
    if (typeof value !== 'object' || value === null) return JSON.stringify(value);
    return `{${Object.entries(value)
      .map(([name, one]) => `${unescaped(name)}:${unescaped(one)}`)
      .join()}}`;
  };
  const json = fc.jsonValue({ stringUnit: fc.constantFrom(...'ab"\\/\n\t\u0001\u2028😀[{') });

  it('resolves every escape, and nothing else', () => {
    fc.assert(
      fc.property(json, (value) => {
        expect(resolveJson(JSON.stringify(value), 1)).toBe(unescaped(value));
      }),
    );
  });

  it('resolves the beginning of JSON to the beginning of what it resolves', () => {
    fc.assert(
      fc.property(json, fc.nat(), (value, cut) => {
        const whole = JSON.stringify(value);
        const part = resolveJson(whole.slice(0, cut % (whole.length + 1)), 1);
        expect(resolveJson(whole, 1).startsWith(part)).toBe(true);
      }),
    );
  });

  it('reads a megabyte of escapes once per level', () => {
    const nested = Array.from({ length: 3 }).reduce<string>(
      (inner) => JSON.stringify([inner]),
      '\\"'.repeat(100_000),
    );
    expect(resolveJson(nested, 3)).toContain('\\"\\"');
  });
});

it('finds nothing in harmless code that a tool is given', () => {
  const { catalog, tables } = keptMatching();
  const matcher = createFastMatcher(runnableRules(catalog.rules), createPatternCompiler(), tables);
  const codes = [
    'import a from "./a";\n\n\nconst x = require("./x");\n\n\nmodule.exports = { x };\n',
    'const path = require("path");\r\nconst y = require("../lib/y");\r\n\r\n\r\nmodule.exports = y;\r\n',
  ];
  for (const code of codes) {
    for (const step of [args, called, result]) {
      for (const value of [
        { file: '/a.js', code },
        JSON.stringify({ code }),
        { input: JSON.stringify({ code }) },
      ]) {
        expect(evaluateRun([step(value)], matcher, () => true, settings).findings).toEqual([]);
      }
    }
  }
});
