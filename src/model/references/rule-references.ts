/**
 * References of rules: entries of OWASP's and MITRE's lists, weaknesses, vulnerabilities and reading,
 * from the `references` of its file; and which rules refer to one of them. Pure. What is not of a known
 * form is shown as it is written, and is no id that can be looked for.
 */
import type { JsonValue } from '../json.ts';
import {
  ATLAS_TACTICS,
  ATLAS_TECHNIQUES,
  OWASP_AGENTIC,
  OWASP_LLM,
} from './reference-frameworks.ts';

export interface RuleReference {
  /** `LLM01:2025`, `AML.T0051.000`, `CVE-2026-30623`, or a URL; else the text of the file */
  readonly id: string;
  /** of the form that ids of its list have */
  readonly isKnown: boolean;
  /** as the file names it, after the id, or else its list; null where neither does */
  readonly name: string | null;
  /** where it is described; null where there is no page for each */
  readonly url: string | null;
}

export interface ReferenceList {
  readonly kind: string;
  readonly label: string;
  readonly references: readonly RuleReference[];
}

interface Kind {
  readonly label: string;
  readonly id: RegExp;
  readonly url: (id: string) => string | null;
}

const OWASP = 'https://genai.owasp.org';
const isWebPage = /^https?:\/\/[^\s"<>]+$/;
const WEB_PAGE_IN_TEXT = /https?:\/\/[^\s"<>]+/;
const ARXIV_IN_TEXT = /\barXiv[: ](\d{4}\.\d{4,5})\b/i;

/** By the name of the list in a rule file, in the order in which they are shown. */
const KINDS: Readonly<Record<string, Kind>> = {
  owasp_llm: {
    label: 'OWASP Top 10 for LLM Applications',
    id: /^LLM\d\d:\d{4}$/,
    url: () => `${OWASP}/llm-top-10/`,
  },
  owasp_agentic: {
    label: 'OWASP Top 10 for Agentic Applications',
    id: /^ASI\d\d:\d{4}$/,
    url: () => `${OWASP}/initiatives/agentic-security-initiative/`,
  },
  owasp_ast: { label: 'OWASP Agentic Skills Top 10', id: /^AST\d\d:\d{4}$/, url: () => null },
  mitre_atlas: {
    label: 'MITRE ATLAS',
    // Techniques, and studies of attacks that have happened.
    id: /^AML\.(T\d{4}(\.\d{3})?|CS\d{4})$/,
    url: (id) =>
      `https://atlas.mitre.org/${id.startsWith('AML.CS') ? 'studies' : 'techniques'}/${id}`,
  },
  mitre_attack: {
    label: 'MITRE ATT&CK',
    id: /^T\d{4}(\.\d{3})?$/,
    url: (id) => `https://attack.mitre.org/techniques/${id.replace('.', '/')}/`,
  },
  cwe: {
    label: 'Weaknesses',
    id: /^CWE-\d+$/,
    url: (id) => `https://cwe.mitre.org/data/definitions/${id.slice('CWE-'.length)}.html`,
  },
  cve: {
    label: 'Vulnerabilities',
    id: /^CVE-\d{4}-\d{4,}$/,
    url: (id) => `https://nvd.nist.gov/vuln/detail/${id}`,
  },
  ghsa: {
    label: 'Advisories',
    id: /^GHSA(-[0-9a-z]{4}){3}$/,
    url: (id) => `https://github.com/advisories/${id}`,
  },
  safe_mcp: { label: 'SAFE-MCP', id: /^SAF-T\d+$/, url: () => null },
  research: { label: 'Research', id: isWebPage, url: (id) => id },
  external: { label: 'Further reading', id: isWebPage, url: (id) => id },
};

const NAMES = new Map(
  [...OWASP_LLM, ...OWASP_AGENTIC, ...ATLAS_TECHNIQUES].map(({ id, name }) => [id, name]),
);

/** `AML.T0051 - LLM Prompt Injection` and `CVE-2026-1234 (CVSS 8.8)` are an id and its name. */
function parseKnown(text: string, { id: form, url }: Kind): RuleReference | null {
  const [, id = '', rest = ''] = /^(\S*)(.*)$/s.exec(text) ?? [];
  if (!form.test(id)) return null;
  const name = rest.replace(/^\s+-\s/, '').trim();
  return { id, isKnown: true, name: name === '' ? (NAMES.get(id) ?? null) : name, url: url(id) };
}

function parseText(text: string): RuleReference {
  const [url = null] = WEB_PAGE_IN_TEXT.exec(text) ?? [];
  const [, paper] = ARXIV_IN_TEXT.exec(text) ?? [];
  const page = url ?? (paper === undefined ? null : `https://arxiv.org/abs/${paper}`);
  return { id: text, isKnown: false, name: null, url: page };
}

/** A list of a kind that is not known is named as in the file. */
const labelOf = (kind: string): string => KINDS[kind]?.label ?? kind.replaceAll('_', ' ');

/**
 * The lists of a rule, those of known kinds first. An advisory among the vulnerabilities is listed with the
 * advisories.
 *
 * @param references of a rule, as in its file: lists of texts, or single ones, by kind
 */
export function referenceLists(references: JsonValue): readonly ReferenceList[] {
  if (references === null || typeof references !== 'object' || Array.isArray(references)) return [];
  const lists = LISTS.get(references) ?? readLists(references);
  LISTS.set(references, lists);
  return lists;
}

/** Of the references of each rule, which do not change: a page reads those of 757 rules, for every list. */
const LISTS = new WeakMap<object, readonly ReferenceList[]>();

function readLists(given: Readonly<Record<string, JsonValue>>): ReferenceList[] {
  const lists = new Map(Object.keys(KINDS).map((kind) => [kind, new Map<string, RuleReference>()]));
  for (const [kind, entries] of Object.entries(given)) {
    for (const entry of [entries].flat()) {
      const text = typeof entry === 'string' ? entry.trim() : '';
      if (text === '') continue;
      const { list, reference } = placeOf(text, kind);
      const found = lists.get(list) ?? new Map<string, RuleReference>();
      lists.set(list, found);
      if (!found.has(reference.id)) found.set(reference.id, reference);
    }
  }
  return [...lists].flatMap(([kind, found]) =>
    found.size === 0 ? [] : [{ kind, label: labelOf(kind), references: [...found.values()] }],
  );
}

function placeOf(text: string, kind: string): { list: string; reference: RuleReference } {
  for (const list of kind === 'cve' ? ['cve', 'ghsa'] : [kind]) {
    const of = KINDS[list];
    const reference = of === undefined ? null : parseKnown(text, of);
    if (reference !== null) return { list, reference };
  }
  return { list: kind, reference: parseText(text) };
}

/** Ids of what rules refer to, without reading, and the rules of each. */
export interface ReferenceIndex {
  /** none for a rule that is not of the corpus */
  readonly idsOf: (ruleId: string) => readonly string[];
  /**
   * The rules that refer to it, by id: to a technique or a part of it (`AML.T0051`), to any technique of a
   * tactic of ATLAS (`AML.TA0005`), to an entry of any year (`LLM01`), or to a weakness or vulnerability.
   */
  readonly rulesOf: (reference: string) => readonly string[];
}

/** Lists whose entries are addresses. */
const READING = ['research', 'external'];
/** Maximum length of an id in a request: no id is longer. */
export const REFERENCE_FORM = /^[A-Za-z\d][A-Za-z\d.:-]{1,39}$/;
/** The description of such a request, for the API. */
export const REFERRING =
  'that refer to this: a technique of MITRE ATLAS or ATT&CK with its sub-techniques, a tactic of ATLAS, ' +
  'an entry of an OWASP Top 10, a weakness or a vulnerability.';

export function referenceIds(references: JsonValue): string[] {
  return referenceLists(references)
    .filter(({ kind }) => !READING.includes(kind))
    .flatMap(({ references: all }) => all.filter(({ isKnown }) => isKnown).map(({ id }) => id));
}

/** Checks whether an id equals the requested one, or is a part of that technique, or that entry of a year. */
function isWithin(id: string, sought: string): boolean {
  return id === sought || id.startsWith(`${sought}.`) || id.startsWith(`${sought}:`);
}

interface RuleWithReferences {
  readonly id: string;
  readonly references: JsonValue;
}

/** Of each list of rules, which does not change. */
const INDEXES = new WeakMap<readonly RuleWithReferences[], ReferenceIndex>();

/** The index of these rules, the same one for the same list. */
export function referenceIndex(rules: readonly RuleWithReferences[]): ReferenceIndex {
  const index = INDEXES.get(rules) ?? createIndex(rules);
  INDEXES.set(rules, index);
  return index;
}

function createIndex(rules: readonly RuleWithReferences[]): ReferenceIndex {
  const ids = new Map(rules.map(({ id, references }) => [id, referenceIds(references)]));
  return {
    idsOf: (ruleId) => ids.get(ruleId) ?? [],
    rulesOf: (reference) => {
      const sought = reference.toUpperCase();
      const tactic = ATLAS_TACTICS.find(({ id }) => id === sought);
      const all = tactic?.techniques ?? [sought];
      return [...ids]
        .filter(([, own]) => own.some((id) => all.some((one) => isWithin(id.toUpperCase(), one))))
        .map(([ruleId]) => ruleId)
        .sort();
    },
  };
}
