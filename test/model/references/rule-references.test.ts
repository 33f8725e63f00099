/** What the references of a rule file become on pages and in exports. */
import { expect, test } from 'vitest';

import { pinnedCorpus } from '../../../src/main/corpus-location.ts';
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
import { loadKeptCatalog } from '../../../src/pool/kept-catalog.ts';

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
      isKnown: true,
      name: 'Prompt Injection',
      url: 'https://genai.owasp.org/llm-top-10/',
    },
    {
      id: 'AML.T0051.000',
      isKnown: true,
      name: 'LLM Prompt Injection - Direct',
      url: 'https://atlas.mitre.org/techniques/AML.T0051.000',
    },
    {
      id: 'T1059.006',
      isKnown: true,
      name: 'Python',
      url: 'https://attack.mitre.org/techniques/T1059/006/',
    },
    {
      id: 'CWE-22',
      isKnown: true,
      name: null,
      url: 'https://cwe.mitre.org/data/definitions/22.html',
    },
    {
      id: 'https://arxiv.org/abs/2304.13734',
      isKnown: true,
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
  [{ mitre_atlas: [7, {}, ' '] }],
])('%j has none', (references) => {
  expect(idsOf(references)).toEqual({});
});

test.each([
  [
    { mitre_atlas: ['T1059', 'AML.T51 - LLM'] },
    {
      mitre_atlas: [
        ['T1059', null],
        ['AML.T51 - LLM', null],
      ],
    },
  ],
  [
    { research: ['javascript:alert(1)', 'ftp://host/'] },
    {
      research: [
        ['javascript:alert(1)', null],
        ['ftp://host/', null],
      ],
    },
  ],
  [
    { research: ['A paper (arXiv:2505.02709)'] },
    { research: [['A paper (arXiv:2505.02709)', 'https://arxiv.org/abs/2505.02709']] },
  ],
  [
    { research: ['Socket, 2026: https://socket.dev/a'] },
    { research: [['Socket, 2026: https://socket.dev/a', 'https://socket.dev/a']] },
  ],
  [{ unknown_list: ['LLM01:2025'] }, { unknown_list: [['LLM01:2025', null]] }],
])('%j is shown as it is written, and is no id', (references, shown) => {
  const lists = referenceLists(references);
  const pairs = lists.map(({ kind, references: all }) => [
    kind,
    all.map(({ id, url }) => [id, url]),
  ]);
  expect(Object.fromEntries(pairs)).toEqual(shown);
  expect(referenceIds(references)).toEqual([]);
});

test('an advisory among vulnerabilities, a remark after an id, and a study of ATLAS', () => {
  const references = {
    cve: ['GHSA-hxpf-9xvq-wph8', 'CVE-2026-25253 (CVSS 8.8) - a name'],
    mitre_atlas: ['AML.CS0036 - AIKatz'],
  };
  expect(idsOf(references)).toEqual({
    mitre_atlas: [['AML.CS0036', 'AIKatz', 'https://atlas.mitre.org/studies/AML.CS0036']],
    cve: [
      ['CVE-2026-25253', '(CVSS 8.8) - a name', 'https://nvd.nist.gov/vuln/detail/CVE-2026-25253'],
    ],
    ghsa: [['GHSA-hxpf-9xvq-wph8', null, 'https://github.com/advisories/GHSA-hxpf-9xvq-wph8']],
  });
  expect(referenceIds(references)).toHaveLength(3);
});

test('every reference of the pinned corpus is shown', () => {
  const { rules } = loadKeptCatalog(pinnedCorpus());
  const lost = rules.flatMap(({ id, references }) => {
    const shown = referenceLists(references).flatMap(({ references: all }) => all);
    const given = Object.values(references ?? {}).flat();
    const isShown = (text: unknown): boolean =>
      shown.some((one) => String(text).startsWith(one.id));
    return given.filter((text) => !isShown(text)).map((text) => `${id}: ${text}`);
  });
  expect(lost).toEqual([]);
  expect(
    rules.filter(({ references }) => referenceIds(references).length > 0).length,
  ).toBeGreaterThan(750);
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
