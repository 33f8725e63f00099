/** What the references of a rule file become on pages and in exports. */
import { expect, test } from 'vitest';
import { referenceLists } from '../../src/model/rule-references.ts';

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
    { id: 'LLM01:2025', name: null, url: 'https://genai.owasp.org/llm-top-10/' },
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
