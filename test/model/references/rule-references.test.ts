/** What the references of a rule file become on pages and in exports. */
import { expect, test } from 'vitest';
import {
  ATLAS_TACTICS,
  ATLAS_TECHNIQUES,
  OWASP_AGENTIC,
  OWASP_LLM,
} from '../../../src/model/references/reference-frameworks.ts';
import {
  REFERENCE_FORM,
  referenceIds,
  referenceIndex,
  referenceLists,
} from '../../../src/model/references/rule-references.ts';

const idsOf = (references: Parameters<typeof referenceLists>[0]) =>
  Object.fromEntries(
    referenceLists(references).map(({ kind, references: all }) => [
      kind,
      all.map(({ id, name, url }) => [id, name, url]),
    ]),
  );

test('lists in their order, each with ids, names and addresses', () => {
  const lists = referenceLists({
    research: ['https://arxiv.org/abs/2304.13734'],
    mitre_attack: ['T1059.006 - Python'],
    mitre_atlas: ['AML.T0051.000 - LLM Prompt Injection - Direct', 'AML.T0051.000 - again'],
    owasp_llm: ['LLM01:2025'],
    cwe: 'CWE-22',
  });
  expect(lists.map(({ kind }) => kind)).toEqual([
    'owasp_llm',
    'mitre_atlas',
    'mitre_attack',
    'cwe',
    'research',
  ]);
  expect(lists.map(({ references }) => references[0])).toEqual([
    {
      id: 'LLM01:2025',
      name: 'Prompt Injection',
      url: 'https://genai.owasp.org/llm-top-10/',
    },
    {
      id: 'AML.T0051.000',
      name: 'LLM Prompt Injection - Direct',
      url: 'https://atlas.mitre.org/techniques/AML.T0051.000',
    },
    { id: 'T1059.006', name: 'Python', url: 'https://attack.mitre.org/techniques/T1059/006/' },
    { id: 'CWE-22', name: null, url: 'https://cwe.mitre.org/data/definitions/22.html' },
    {
      id: 'https://arxiv.org/abs/2304.13734',
      name: null,
      url: 'https://arxiv.org/abs/2304.13734',
    },
  ]);
  expect(lists[1]?.references).toHaveLength(1);
});

test.each([
  [null],
  ['AML.T0051'],
  [[]],
  [{}],
  [{ mitre_atlas: null }],
  [{ mitre_atlas: [7, {}, 'T1059', 'AML.T51'] }],
  [{ research: ['javascript:alert(1)', 'ftp://host/', 'https://a b', 'see the paper'] }],
  [{ unknown_list: ['LLM01:2025'] }],
])('%j has none that is of a known form', (references) => {
  expect(idsOf(references)).toEqual({});
});

const INDEX = referenceIndex([
  { id: 'R-3', references: { mitre_atlas: ['AML.T0051.001 - Indirect'], cve: ['CVE-2026-1234'] } },
  { id: 'R-1', references: { mitre_atlas: ['AML.T0051 - LLM Prompt Injection'] } },
  { id: 'R-2', references: { owasp_llm: ['LLM01:2025'], mitre_attack: ['T1059.006'] } },
  { id: 'R-4', references: { mitre_atlas: ['AML.T0054'], research: ['https://example.org'] } },
  { id: 'R-5', references: null },
]);

test.each([
  ['AML.T0051', ['R-1', 'R-3']],
  ['aml.t0051.001', ['R-3']],
  ['AML.T005', []],
  ['AML.TA0005', ['R-1', 'R-3']],
  ['AML.TA0007', ['R-4']],
  ['AML.TA9999', []],
  ['LLM01', ['R-2']],
  ['LLM01:2025', ['R-2']],
  ['LLM01:2024', []],
  ['T1059', ['R-2']],
  ['CVE-2026-1234', ['R-3']],
  ['CVE-2026-123', []],
  ['https://example.org', []],
])('the rules that refer to %s are %j', (reference, rules) => {
  expect(INDEX.rulesOf(reference)).toEqual(rules);
});

test('ids are those of lists, not of reading; a rule that is not there has none', () => {
  expect(INDEX.idsOf('R-3')).toEqual(['AML.T0051.001', 'CVE-2026-1234']);
  expect(INDEX.idsOf('R-4')).toEqual(['AML.T0054']);
  expect(INDEX.idsOf('R-9')).toEqual([]);
});

test('every entry of a framework is read as a reference of its list, and can be looked for', () => {
  const lists = {
    owasp_llm: OWASP_LLM,
    owasp_agentic: OWASP_AGENTIC,
    mitre_atlas: ATLAS_TECHNIQUES,
  };
  for (const [kind, entries] of Object.entries(lists)) {
    const ids = entries.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(referenceIds({ [kind]: ids })).toEqual(ids);
    for (const id of ids) expect(id).toMatch(REFERENCE_FORM);
  }
});

test('every technique of ATLAS is in a tactic, and every tactic has known techniques', () => {
  const inTactics = new Set(ATLAS_TACTICS.flatMap(({ techniques }) => techniques));
  expect([...inTactics].sort()).toEqual(ATLAS_TECHNIQUES.map(({ id }) => id).sort());
});
