/** SARIF of scans: valid by the published schema, whatever was found or could not be checked. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Ajv } from 'ajv';
import fc from 'fast-check';
import { expect, test } from 'vitest';

import type { ScanHit, ScanReport } from '../../../src/cli/scan/report.ts';
import { toSarif } from '../../../src/cli/scan/sarif.ts';
import { SEVERITIES } from '../../../src/model/rules.ts';

const path = '@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json';
const {
  $schema: _draft,
  id: _id,
  ...schema
} = JSON.parse(readFileSync(createRequire(import.meta.url).resolve(path), 'utf8'));
// It is of draft 4, and uses nothing that later drafts read otherwise. Formats only say more about strings that
// it limits in other ways, too.
const validate = new Ajv({ strict: false, validateFormats: false, unicodeRegExp: false }).compile(
  schema,
);

interface SarifRun {
  readonly tool: { readonly driver: { readonly rules: readonly unknown[] } };
  readonly invocations: readonly {
    readonly executionSuccessful: boolean;
    readonly toolExecutionNotifications: readonly { readonly level: string }[];
  }[];
  readonly results: readonly { readonly locations: readonly unknown[] }[];
}

const HIT: ScanHit = {
  file: 'prompts/a.txt',
  run: null,
  rule: 'ATR-2026-00001',
  severity: 'high',
  surface: 'step_input',
  surfaces: ['step_input'],
  title: 'Direct injection',
  excerpt: 'ignore all',
  line: 3,
};
const REPORT: ScanReport = {
  hits: [],
  undecided: [],
  truncated: 0,
  unparsed: 0,
  not_utf8: 0,
  cut: 0,
  unread: 0,
  unread_keys: [],
  unknown_roles: [],
  rejected: [],
  checked: ['step_input'],
  rules_tried: 10,
  files: 1,
  binary: 0,
  failed: [],
  incomplete: [],
};

function runOf(report: Partial<ScanReport>): SarifRun {
  const sarif = toSarif({ ...REPORT, ...report }, '0.1.0') as { runs: [SarifRun] };
  expect(validate(sarif), JSON.stringify(validate.errors)).toBe(true);
  return sarif.runs[0];
}

test('the schema refuses what is not SARIF', () => {
  expect(validate({ version: '2.1.0' })).toBe(false);
  expect(validate({ version: '2.1.0', runs: [{ tool: { driver: {} } }] })).toBe(false);
  const tool = { driver: { name: 'x' } };
  expect(validate({ version: '2.1.0', runs: [{ tool, results: [{ level: 'bad' }] }] })).toBe(false);
});

test('a match has its rule, level, file and line', () => {
  const run = runOf({ hits: [HIT, { ...HIT, file: 'b.txt', line: 1 }] });
  expect(run.tool.driver.rules).toHaveLength(1);
  expect(run.results).toHaveLength(2);
  expect(run.results[0]).toMatchObject({
    ruleId: 'ATR-2026-00001',
    ruleIndex: 0,
    level: 'error',
    locations: [
      {
        physicalLocation: {
          artifactLocation: { uri: 'prompts/a.txt' },
          region: { startLine: 3, snippet: { text: 'ignore all' } },
        },
      },
    ],
  });
});

test('a match in a recorded run names the run', () => {
  const run = runOf({ hits: [{ ...HIT, run: 'ab', line: null }] });
  expect(run.results[0]?.locations[0]).toMatchObject({
    physicalLocation: { region: { startLine: 1 } },
    logicalLocations: [{ name: 'ab' }],
  });
});

test('what could not be checked is said, so that no results do not mean clean', () => {
  const run = runOf({
    failed: [{ file: '/no such', why: 'it cannot be read' }],
    truncated: 2,
    incomplete: [{ file: 'prompts/long.txt', why: 'Texts that were cut: 2' }],
  });
  const [invocation] = run.invocations;
  expect(invocation?.executionSuccessful).toBe(false);
  expect(
    invocation?.toolExecutionNotifications.map(({ level }: { level: string }) => level),
  ).toEqual(['error', 'warning']);
  expect(invocation?.toolExecutionNotifications[1]).toMatchObject({
    message: { text: 'Texts that were cut: 2' },
    locations: [{ physicalLocation: { artifactLocation: { uri: 'prompts/long.txt' } } }],
  });
  expect(runOf({}).invocations).toEqual([
    { executionSuccessful: true, toolExecutionNotifications: [] },
  ]);
});

test('any names and texts are valid', () => {
  const hit = fc.record({
    ...Object.fromEntries(Object.entries(HIT).map(([name, value]) => [name, fc.constant(value)])),
    file: fc.string({ unit: 'grapheme', minLength: 1 }),
    excerpt: fc.string({ unit: 'binary' }),
    rule: fc.constantFrom('ATR-2026-00001', 'ATR-2026-00002'),
    severity: fc.constantFrom(...SEVERITIES),
    line: fc.option(fc.integer({ min: 1 })),
  }) as fc.Arbitrary<ScanHit>;
  fc.assert(fc.property(fc.array(hit, { maxLength: 5 }), (hits) => void runOf({ hits })));
});
