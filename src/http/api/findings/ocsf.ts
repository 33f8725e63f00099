/**
 * A finding as an event of the Open Cybersecurity Schema Framework: Detection Finding, class 2004.
 * Pure. Its input has no excerpt.
 *
 * Attributes and numbers: schema.ocsf.io/1.5.0/classes/detection_finding and its objects. Values
 * without an attribute in OCSF are under `unmapped`, named as in the findings list. OCSF 1.9 has the agent
 * itself, as evidence; its profile `ai_operation` is not for findings, and events are not signed, so that
 * `record_integrity` does not apply.
 */
import { z } from 'zod';
import type { FindingFacts } from '../../../db/findings/findings.ts';
import { categoryName } from '../../../model/finding-fields.ts';
import {
  type ReferenceIndex,
  referenceIndex,
  referenceLists,
} from '../../../model/references/rule-references.ts';
import type { Rule, Severity } from '../../../model/rules.ts';
import type { FindingState, TriageMark } from '../../../model/triage.ts';
import { type BodyOf, component, count, hex16 } from '../openapi/component.ts';
import { ruleId } from '../rules/rule-schema.ts';
import {
  findingCategoryName,
  findingUrl,
  ocsfUnmapped,
  ruleFacts,
  triageFacts,
} from './finding-schema.ts';

/** The versions that an export can choose from; importers know the first. */
export const OCSF_VERSIONS = ['1.5', '1.9'] as const;
export type OcsfVersion = (typeof OCSF_VERSIONS)[number];

const milliseconds = count('When the finding was stored, in milliseconds since 1970.');

const technique = z.object({
  uid: z.string(),
  name: z.string().optional(),
  src_url: z.url().optional(),
});

const aiAgent = z
  .object({
    name: z.string(),
    instance_uid: hex16('The run.'),
    ai_model: z
      .object({ name: z.string(), ai_provider: z.literal('Unknown') })
      .optional()
      .describe('The model of the run.'),
  })
  .describe('The agent of the run, in OCSF 1.9; absent when unknown.');

export const ocsfEvent = component(
  'OcsfDetectionFinding',
  z
    .object({
      activity_id: z.literal(1),
      activity_name: z.literal('Create'),
      category_uid: z.literal(2),
      category_name: z.literal('Findings'),
      class_uid: z.literal(2004),
      class_name: z.literal('Detection Finding'),
      type_uid: z.literal(200_401),
      type_name: z.literal('Detection Finding: Create'),
      time: milliseconds,
      severity_id: z.int().min(1).max(5),
      severity: z.enum(['Critical', 'High', 'Medium', 'Low', 'Informational']),
      status_id: z
        .int()
        .min(1)
        .max(4)
        .describe('By the state when it is exported; what an exception covers is suppressed.'),
      status: z.enum(['New', 'In Progress', 'Suppressed', 'Resolved']),
      verdict_id: z
        .int()
        .min(0)
        .max(2)
        .describe('1 for a false positive, 2 when confirmed, else 0; as the state then is.'),
      verdict: z.enum(['Unknown', 'False Positive', 'True Positive']),
      assignee: z
        .object({ name: z.string(), email_addr: z.string() })
        .optional()
        .describe('The user that the finding is assigned to; absent when it is unassigned.'),
      is_alert: z.literal(true),
      message: z.string(),
      metadata: z.object({
        version: z.enum(['1.5.0', '1.9.0']).describe('Of OCSF.'),
        profiles: z.tuple([z.literal('incident')]).describe('Of verdict and assignee.'),
        product: z.object({ name: z.string(), vendor_name: z.string(), version: z.string() }),
        uid: hex16('Id of the finding; send the last one back as `after`.'),
        event_code: ruleId,
        correlation_uid: hex16('The run it was found in.'),
      }),
      finding_info: z.object({
        uid: hex16('Id of the finding.'),
        title: z.string(),
        created_time: milliseconds,
        types: z.array(findingCategoryName),
        src_url: z.url().describe('The finding in the dashboard.'),
        analytic: z.object({
          type_id: z.literal(1),
          type: z.literal('Rule'),
          uid: ruleId,
          name: z.string().optional().describe('Absent when the loaded corpus has no such rule.'),
          version: z.string(),
        }),
        attacks: z
          .array(z.object({ technique, sub_technique: technique.optional() }))
          .optional()
          .describe('The techniques of MITRE ATLAS and ATT&CK that the rule refers to.'),
      }),
      evidences: z
        .array(
          z.object({
            actor: z
              .object({
                user: z.object({ uid: z.string() }).optional().describe('The user of the run.'),
                session: z
                  .object({ uid: z.string() })
                  .optional()
                  .describe('The session of the run.'),
              })
              .optional(),
            uid: z.string().optional().describe('Span id of the step, in OCSF 1.9.'),
            ai_agent: aiAgent.optional(),
            data: z
              .object({ surface: z.string() })
              .optional()
              .describe('In OCSF 1.9 without an actor: which text was matched, not the text.'),
          }),
        )
        .optional()
        .describe('For whom the agent worked; absent in OCSF 1.5 when unknown.'),
      resources: z
        .array(z.object({ type: z.enum(['agent', 'service', 'model']), name: z.string() }))
        .optional()
        .describe('Agent, service and model of the run, as far as known.'),
      unmapped: ocsfUnmapped,
    })
    .describe('A finding as a Detection Finding (class 2004) of OCSF. Never the excerpt.'),
);

/** OCSF requires a provider of a model. */
const UNKNOWN_PROVIDER = 'Unknown' as const;

const CATEGORY_UID = 2;
const CLASS_UID = 2004;
const ACTIVITY_CREATE = 1;
/** class × 100 + activity */
const TYPE_UID = 200_401;
const ANALYTIC_RULE = 1;

type Caption = BodyOf<typeof ocsfEvent>['severity'];
const SEVERITIES: Readonly<Record<Severity, readonly [id: number, caption: Caption]>> = {
  critical: [5, 'Critical'],
  high: [4, 'High'],
  medium: [3, 'Medium'],
  low: [2, 'Low'],
  informational: [1, 'Informational'],
};

type Status = readonly [id: 1 | 2 | 3 | 4, caption: BodyOf<typeof ocsfEvent>['status']];
const STATUSES: Readonly<Record<FindingState, Status>> = {
  new: [1, 'New'],
  acknowledged: [2, 'In Progress'],
  confirmed: [2, 'In Progress'],
  false_positive: [3, 'Suppressed'],
  closed: [4, 'Resolved'],
};

/** OCSF: what was found to be benign is suppressed, as what an exception expects. */
function statusOf({ state, isExcepted }: TriageMark): Status {
  return STATUSES[isExcepted && state === 'new' ? 'false_positive' : state];
}

type Verdict = readonly [id: 0 | 1 | 2, caption: BodyOf<typeof ocsfEvent>['verdict']];
const UNDECIDED: Verdict = [0, 'Unknown'];
/** A closed finding may have been either. */
const VERDICTS: Readonly<Record<FindingState, Verdict>> = {
  new: UNDECIDED,
  acknowledged: UNDECIDED,
  confirmed: [2, 'True Positive'],
  false_positive: [1, 'False Positive'],
  closed: UNDECIDED,
};

/** The attributes of OCSF's profile Incident: a user has a name, an account or a uid. */
function incidentOf({ state, assignee }: TriageMark) {
  const [verdictId, verdict] = VERDICTS[state];
  const user = assignee === null ? {} : { assignee: { name: assignee, email_addr: assignee } };
  return { verdict_id: verdictId, verdict, ...user };
}

export interface OcsfSource {
  readonly productVersion: string;
  readonly baseUrl: string;
  /** the title of a rule; undefined when the loaded corpus does not have it */
  readonly ruleTitle: (ruleId: string) => string | undefined;
  /** the techniques of MITRE ATLAS and ATT&CK that a rule refers to */
  readonly ruleAttacks: (ruleId: string) => readonly OcsfAttack[];
  readonly references: ReferenceIndex;
}

/** OCSF's object `attack`: a technique, or a part of one, which has its number after a dot. */
export type OcsfAttack = NonNullable<BodyOf<typeof ocsfEvent>['finding_info']['attacks']>[number];

const TECHNIQUES = ['mitre_atlas', 'mitre_attack'];
const TECHNIQUE = /^(AML\.)?T\d{4}(\.\d{3})?$/;
const SUB_TECHNIQUE = /\.\d{3}$/;

/** @param references of a rule, as in its file */
export function attacksOf(references: Rule['references']): OcsfAttack[] {
  return referenceLists(references)
    .filter(({ kind }) => TECHNIQUES.includes(kind))
    .flatMap(({ references: techniques }) => techniques.filter(({ id }) => TECHNIQUE.test(id)))
    .map(({ id, name, url }) => {
      const named = {
        uid: id,
        ...(name === null ? {} : { name }),
        ...(url ? { src_url: url } : {}),
      };
      if (!SUB_TECHNIQUE.test(id)) return { technique: named };
      return { technique: { uid: id.replace(SUB_TECHNIQUE, '') }, sub_technique: named };
    });
}

export function ocsfSourceOf(
  rules: readonly Pick<Rule, 'id' | 'title' | 'references'>[],
  productVersion: string,
  baseUrl: string,
): OcsfSource {
  const byId = new Map(rules.map((rule) => [rule.id, rule]));
  const attacks = new Map<string, OcsfAttack[]>();
  return {
    productVersion,
    baseUrl,
    ruleTitle: (id) => byId.get(id)?.title,
    ruleAttacks: (id) => {
      const rule = byId.get(id);
      if (rule === undefined) return [];
      const own = attacks.get(id) ?? attacksOf(rule.references);
      attacks.set(id, own);
      return own;
    },
    references: referenceIndex(rules),
  };
}

type Evidence = NonNullable<BodyOf<typeof ocsfEvent>['evidences']>[number];

/** For whom the agent worked: the run's user and session. */
function actorOf({ userId, sessionId }: FindingFacts): Pick<Evidence, 'actor'> {
  if (userId === null && sessionId === null) return {};
  return {
    actor: {
      ...(userId === null ? {} : { user: { uid: userId } }),
      ...(sessionId === null ? {} : { session: { uid: sessionId } }),
    },
  };
}

function agentOf({ agentName, model, runId }: FindingFacts): Pick<Evidence, 'ai_agent'> {
  if (agentName === null) return {};
  const aiModel =
    model === null ? {} : { ai_model: { name: model, ai_provider: UNKNOWN_PROVIDER } };
  return { ai_agent: { name: agentName, instance_uid: runId, ...aiModel } };
}

/** OCSF 1.9 asks for more than an agent. */
function evidencesOf(finding: FindingFacts, version: OcsfVersion): { evidences?: Evidence[] } {
  const known = actorOf(finding);
  const hasActor = known.actor !== undefined;
  if (version === '1.5') return hasActor ? { evidences: [known] } : {};
  const { stepSpanId, surface } = finding;
  return {
    evidences: [
      {
        ...(stepSpanId === null ? {} : { uid: stepSpanId }),
        ...(hasActor ? known : { data: { surface } }),
        ...agentOf(finding),
      },
    ],
  };
}

/** The attacked resources: the agent, its service and its model. */
function resourcesOf({ agentName, serviceName, model }: FindingFacts) {
  const named = [
    ['agent', agentName],
    ['service', serviceName],
    ['model', model],
  ] as const;
  const resources = named.flatMap(([type, name]) => (name === null ? [] : [{ type, name }]));
  return resources.length === 0 ? {} : { resources };
}

/** One finding as one event. Times are milliseconds since 1970. */
export function toOcsf(
  finding: FindingFacts,
  { productVersion, baseUrl, ruleTitle, ruleAttacks, references }: OcsfSource,
  version: OcsfVersion = '1.5',
): BodyOf<typeof ocsfEvent> {
  const { id, ruleId, runId, description } = finding;
  const time = finding.createdAt.getTime();
  const [severityId, severity] = SEVERITIES[finding.severity];
  const [statusId, status] = statusOf(finding);
  const category = categoryName(finding.category);
  const title = ruleTitle(ruleId);
  const attacks = ruleAttacks(ruleId);
  return {
    activity_id: ACTIVITY_CREATE,
    activity_name: 'Create',
    category_uid: CATEGORY_UID,
    category_name: 'Findings',
    class_uid: CLASS_UID,
    class_name: 'Detection Finding',
    type_uid: TYPE_UID,
    type_name: 'Detection Finding: Create',
    time,
    severity_id: severityId,
    severity,
    status_id: statusId,
    status,
    ...incidentOf(finding),
    is_alert: true,
    message: description,
    metadata: {
      version: `${version}.0`,
      profiles: ['incident'],
      product: { name: 'Sluice', vendor_name: 'Sluice', version: productVersion },
      uid: id,
      event_code: ruleId,
      correlation_uid: runId,
    },
    finding_info: {
      uid: id,
      title: description,
      created_time: time,
      types: [category],
      src_url: findingUrl(baseUrl, id),
      analytic: {
        type_id: ANALYTIC_RULE,
        type: 'Rule',
        uid: ruleId,
        ...(title === undefined ? {} : { name: title }),
        version: finding.ruleVersion,
      },
      ...(attacks.length === 0 ? {} : { attacks: [...attacks] }),
    },
    ...evidencesOf(finding, version),
    ...resourcesOf(finding),
    unmapped: {
      ...ruleFacts(finding),
      reference_ids: [...references.idsOf(ruleId)],
      category,
      run_id: runId,
      tool: finding.toolName,
      ...triageFacts(finding),
      recommended_actions: finding.recommendedActions,
    },
  };
}
