/**
 * A finding as an OCSF event: exactly this one, valid by what OCSF asks of a Detection Finding, and
 * without a word of an excerpt.
 */
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { FindingFacts } from '../../../../src/db/findings/findings.ts';
import { attacksOf, toOcsf } from '../../../../src/http/api/findings/ocsf.ts';
import { referenceIndex } from '../../../../src/model/references/rule-references.ts';
import { CATEGORIES, SEVERITIES } from '../../../../src/model/rules.ts';
import { findingDraft, hex16, NO_FACTS } from '../../../support/rows.ts';

const REFERENCES = {
  mitre_atlas: ['AML.T0054 - LLM Jailbreak', 'AML.T0051.001 - Indirect'],
  owasp_llm: ['LLM01:2025'],
};
const SOURCE = {
  productVersion: '0.1.0',
  baseUrl: 'https://sluice.test',
  ruleTitle: (ruleId: string) => (ruleId === 'ATR-2026-00001' ? 'Instruction override' : undefined),
  ruleAttacks: (ruleId: string) => (ruleId === 'ATR-2026-00001' ? attacksOf(REFERENCES) : []),
  references: referenceIndex([{ id: 'ATR-2026-00001', references: REFERENCES }]),
};

function facts(fields: Partial<FindingFacts> = {}): FindingFacts {
  const { excerpt: _, ...draft } = findingDraft({ subcategory: 'direct' });
  return {
    ...draft,
    ...NO_FACTS,
    id: hex16(1),
    createdAt: new Date('2026-11-20T12:00:00.123Z'),
    runId: hex16(2),
    corpusVersion: '4.0.0',
    corpusIdentity: 'c0'.repeat(20),
    ...fields,
  };
}

/**
 * What OCSF 1.5.0 asks of the class and of the objects that we send: every attribute it requires,
 * and the type of each that we use. Strict, so that no attribute is sent that OCSF does not know.
 *
 * Sources: schema.ocsf.io/1.5.0/classes/detection_finding, /objects/metadata, /objects/product,
 * /objects/finding_info, /objects/analytic, /objects/attack, /objects/technique,
 * /objects/evidences, /objects/actor, /objects/resource_details. Product and analytic are entities: one of `name` and
 * `uid` must be there.
 */
const text = z.string().min(1);
/** `timestamp_t`: milliseconds since 1970 */
const timestamp = z.int().min(Date.UTC(2020, 0)).max(Date.UTC(2100, 0));
const oneOf = (...values: number[]) => z.literal(values);
const isNamed = (entity: { name?: string | undefined; uid?: string | undefined }): boolean =>
  entity.name !== undefined || entity.uid !== undefined;

const product = z
  .strictObject({
    name: text.optional(),
    uid: text.optional(),
    vendor_name: text.optional(),
    version: text.optional(),
  })
  .refine(isNamed);
const technique = z
  .strictObject({ uid: text.optional(), name: text.optional(), src_url: z.url().optional() })
  .refine(isNamed);
const attack = z.strictObject({ technique, sub_technique: technique.optional() });
const analytic = z
  .strictObject({
    type_id: oneOf(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 99),
    type: text.optional(),
    name: text.optional(),
    uid: text.optional(),
    version: text.optional(),
  })
  .refine(isNamed);
const resource = z
  .strictObject({ name: text.optional(), uid: text.optional(), type: text.optional() })
  .refine(isNamed);
/** One of the things that name an actor must be there; a user is an entity, a session has an id. */
const actor = z
  .strictObject({
    user: z.strictObject({ uid: text }).optional(),
    session: z.strictObject({ uid: text }).optional(),
  })
  .refine(({ user, session }) => user !== undefined || session !== undefined);
/**
 * OCSF 1.9 alone: `objects/ai_agent.json`, `ai_model.json` and `evidences.json` of github.com/ocsf/ocsf-schema at
 * a5cfc68e (1.9.0-dev, 23 July 2026). A model needs a name and a provider, an agent a name or an id; evidence
 * needs one of a list that has actor and data, and not the agent.
 */
const aiModel = z.strictObject({
  ai_provider: text,
  name: text,
  uid: text.optional(),
  version: text.optional(),
});
const aiAgent = z
  .strictObject({
    uid: text.optional(),
    instance_uid: text.optional(),
    name: text.optional(),
    type: text.optional(),
    type_id: oneOf(0, 1, 2, 3, 4, 99).optional(),
    ai_model: aiModel.optional(),
    version: text.optional(),
  })
  .refine(isNamed);
const evidence = z
  .strictObject({
    actor: actor.optional(),
    ai_agent: aiAgent.optional(),
    data: z.json().optional(),
    uid: text.optional(),
  })
  .refine((one) => one.actor !== undefined || one.data !== undefined);
const detectionFinding = z
  .strictObject({
    // required
    activity_id: oneOf(0, 1, 2, 3, 99),
    category_uid: z.literal(2),
    class_uid: z.literal(2004),
    type_uid: z.int(),
    time: timestamp,
    severity_id: oneOf(0, 1, 2, 3, 4, 5, 6, 99),
    metadata: z.strictObject({
      version: z.literal(['1.5.0', '1.9.0']),
      product,
      profiles: z.array(z.enum(['cloud', 'datetime', 'host', 'incident', 'osint'])).optional(),
      uid: text.optional(),
      event_code: text.optional(),
      correlation_uid: text.optional(),
    }),
    finding_info: z.strictObject({
      uid: text,
      title: text.optional(),
      created_time: timestamp.optional(),
      types: z.array(text).optional(),
      src_url: z.url().optional(),
      analytic: analytic.optional(),
      attacks: z.array(attack).optional(),
    }),
    // recommended or optional
    activity_name: text.optional(),
    category_name: text.optional(),
    class_name: text.optional(),
    type_name: text.optional(),
    severity: text.optional(),
    status_id: oneOf(0, 1, 2, 3, 4, 5, 99).optional(),
    status: text.optional(),
    // of the profile Incident
    verdict_id: oneOf(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 99).optional(),
    verdict: text.optional(),
    assignee: z.strictObject({ name: text, email_addr: z.email() }).optional(),
    is_alert: z.boolean().optional(),
    message: text.optional(),
    unmapped: z.record(z.string(), z.json()).optional(),
    resources: z.array(resource).min(1).optional(),
    evidences: z.array(evidence).min(1).optional(),
  })
  .refine((event) => event.type_uid === event.class_uid * 100 + event.activity_id)
  .refine(
    ({ metadata, evidences = [] }) =>
      metadata.version === '1.9.0' ||
      evidences.every((one) => one.ai_agent === undefined && one.uid === undefined),
  );

/** As it arrives: what JSON leaves out or turns into something else is gone. */
const sent = (finding: FindingFacts): unknown =>
  JSON.parse(JSON.stringify(toOcsf(finding, SOURCE)));

test('a finding, whole', () => {
  expect(sent(facts())).toEqual({
    activity_id: 1,
    activity_name: 'Create',
    category_uid: 2,
    category_name: 'Findings',
    class_uid: 2004,
    class_name: 'Detection Finding',
    type_uid: 200401,
    type_name: 'Detection Finding: Create',
    time: 1_795_176_000_123,
    severity_id: 4,
    severity: 'High',
    status_id: 1,
    status: 'New',
    verdict_id: 0,
    verdict: 'Unknown',
    is_alert: true,
    message: 'Rule ATR-2026-00001 matched tool_result.',
    metadata: {
      version: '1.5.0',
      profiles: ['incident'],
      product: { name: 'Sluice', vendor_name: 'Sluice', version: '0.1.0' },
      uid: hex16(1),
      event_code: 'ATR-2026-00001',
      correlation_uid: hex16(2),
    },
    finding_info: {
      uid: hex16(1),
      title: 'Rule ATR-2026-00001 matched tool_result.',
      created_time: 1_795_176_000_123,
      types: ['atr_prompt_injection'],
      src_url: `https://sluice.test/app/findings/${hex16(1)}`,
      analytic: {
        type_id: 1,
        type: 'Rule',
        uid: 'ATR-2026-00001',
        name: 'Instruction override',
        version: '1.0.0',
      },
      attacks: [
        {
          technique: {
            uid: 'AML.T0054',
            name: 'LLM Jailbreak',
            src_url: 'https://atlas.mitre.org/techniques/AML.T0054',
          },
        },
        {
          technique: { uid: 'AML.T0051' },
          sub_technique: {
            uid: 'AML.T0051.001',
            name: 'Indirect',
            src_url: 'https://atlas.mitre.org/techniques/AML.T0051.001',
          },
        },
      ],
    },
    unmapped: {
      detector: 'agent-threat-rules',
      corpus_version: '4.0.0',
      corpus_identity: 'c0'.repeat(20),
      rule_id: 'ATR-2026-00001',
      rule_version: '1.0.0',
      rule_status: 'stable',
      reference_ids: ['LLM01:2025', 'AML.T0054', 'AML.T0051.001'],
      category: 'atr_prompt_injection',
      subcategory: 'direct',
      condition: 0,
      condition_description: 'asks to ignore instructions',
      field: 'tool_response',
      surface: 'tool_result',
      step: { span_id: '0000000000000001', name: 'execute_tool', number: 1 },
      run_id: hex16(2),
      tool: null,
      state: 'new',
      assignee: null,
      is_excepted: false,
      recommended_actions: ['alert'],
    },
  });
});

test('the names of its run are where OCSF has them', () => {
  const named = facts({
    agentName: 'planner',
    serviceName: 'shop',
    model: 'model-1',
    userId: 'user-1',
    sessionId: 'session-1',
    toolName: 'shell',
  });
  const event = sent(named);
  expect(event).toMatchObject({
    evidences: [{ actor: { user: { uid: 'user-1' }, session: { uid: 'session-1' } } }],
    resources: [
      { type: 'agent', name: 'planner' },
      { type: 'service', name: 'shop' },
      { type: 'model', name: 'model-1' },
    ],
    unmapped: { tool: 'shell' },
  });
  expect(detectionFinding.safeParse(event).error).toBeUndefined();
  const onlySession = facts({ sessionId: 'session-1' });
  expect(toOcsf(onlySession, SOURCE).evidences).toEqual([
    { actor: { session: { uid: 'session-1' } } },
  ]);
});

test('every severity has its number', () => {
  const ids = SEVERITIES.map((severity) => {
    const event = toOcsf(facts({ severity }), SOURCE);
    return [severity, event.severity_id, event.severity];
  });
  expect(ids).toEqual([
    ['critical', 5, 'Critical'],
    ['high', 4, 'High'],
    ['medium', 3, 'Medium'],
    ['low', 2, 'Low'],
    ['informational', 1, 'Informational'],
  ]);
});

test('a rule that the corpus no longer has goes by its id', () => {
  const { analytic: rule } = toOcsf(facts({ ruleId: 'ATR-2025-00009' }), SOURCE).finding_info;
  expect(rule).toEqual({ type_id: 1, type: 'Rule', uid: 'ATR-2025-00009', version: '1.0.0' });
});

test('an excerpt that is there all the same is not given away', () => {
  const whole = { ...facts(), excerpt: 'words of a customer' };
  expect(JSON.stringify(toOcsf(whole, SOURCE))).not.toContain('words of a customer');
});

describe('what OCSF asks is kept', () => {
  test.each(CATEGORIES.flatMap((category) => SEVERITIES.map((severity) => [category, severity])))(
    'by a finding of %s, %s',
    (category, severity) => {
      const finding = facts({ category, severity } as Partial<FindingFacts>);
      expect(detectionFinding.safeParse(sent(finding)).error).toBeUndefined();
    },
  );

  test('by one that lacks what may be lacking', () => {
    const finding = facts({
      subcategory: null,
      stepSpanId: null,
      stepName: '',
      recommendedActions: [],
      ruleId: 'ATR-2025-00009',
    });
    expect(detectionFinding.safeParse(sent(finding)).error).toBeUndefined();
  });

  test.each([
    'activity_id',
    'category_uid',
    'class_uid',
    'type_uid',
    'time',
    'severity_id',
    'metadata',
    'finding_info',
  ])('and the check knows that %s is required', (name) => {
    const { [name]: _, ...rest } = sent(facts()) as Record<string, unknown>;
    expect(detectionFinding.safeParse(rest).success).toBe(false);
  });
});

test.each([
  [{ state: 'new' }, [1, 'New'], [0, 'Unknown']],
  [{ state: 'acknowledged' }, [2, 'In Progress'], [0, 'Unknown']],
  [{ state: 'confirmed', isExcepted: true }, [2, 'In Progress'], [2, 'True Positive']],
  [{ state: 'false_positive' }, [3, 'Suppressed'], [1, 'False Positive']],
  [{ state: 'new', isExcepted: true }, [3, 'Suppressed'], [0, 'Unknown']],
  [{ state: 'closed' }, [4, 'Resolved'], [0, 'Unknown']],
] as const)('%j has the status %j and the verdict %j', (fields, status, verdict) => {
  const event = toOcsf(facts({ ...fields, assignee: 'ann@crew.test' }), SOURCE);
  expect(detectionFinding.safeParse(JSON.parse(JSON.stringify(event))).error).toBe(undefined);
  expect([event.status_id, event.status]).toEqual(status);
  expect([event.verdict_id, event.verdict]).toEqual(verdict);
  expect(event.assignee).toEqual({ name: 'ann@crew.test', email_addr: 'ann@crew.test' });
  expect(event.unmapped).toMatchObject({ state: fields.state, assignee: 'ann@crew.test' });
});

describe('OCSF 1.9', () => {
  const newer = (fields: Partial<FindingFacts>) =>
    JSON.parse(JSON.stringify(toOcsf(facts(fields), SOURCE, '1.9')));

  test('has the agent and its model as evidence, with the step', () => {
    const event = newer({ agentName: 'planner', model: 'model-1', userId: 'user-1' });
    expect(event.metadata.version).toBe('1.9.0');
    expect(event.evidences).toEqual([
      {
        uid: '0000000000000001',
        actor: { user: { uid: 'user-1' } },
        ai_agent: {
          name: 'planner',
          instance_uid: hex16(2),
          ai_model: { name: 'model-1', ai_provider: 'Unknown' },
        },
      },
    ]);
    expect(detectionFinding.safeParse(event).error).toBeUndefined();
  });

  test('is valid without names, and differs from 1.5 in version and evidence alone', () => {
    const event = newer({ stepSpanId: null });
    expect(event.evidences).toEqual([{ data: { surface: 'tool_result' } }]);
    expect(detectionFinding.safeParse(event).error).toBeUndefined();
    const older = sent(facts({ stepSpanId: null })) as typeof event;
    const { evidences: _, ...rest } = event;
    expect({ ...rest, metadata: { ...rest.metadata, version: '1.5.0' } }).toEqual(older);
  });

  test('has no excerpt', () => {
    const whole = { ...facts(), excerpt: 'words of a customer' };
    expect(JSON.stringify(toOcsf(whole, SOURCE, '1.9'))).not.toContain('words of a customer');
  });
});
