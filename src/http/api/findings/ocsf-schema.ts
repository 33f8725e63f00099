/** One line of the OCSF export: schema.ocsf.io/1.5.0/classes/detection_finding. */
import { z } from 'zod';

import { component, count, hex16 } from '../openapi/component.ts';
import { ruleId } from '../rules/rule-schema.ts';
import { findingCategoryName, ocsfUnmapped } from './finding-schema.ts';

const milliseconds = count('When the finding was stored, in milliseconds since 1970.');

/** OCSF's objects `technique` and `sub_technique`. */
const technique = z.object({
  uid: z.string(),
  name: z.string().optional(),
  src_url: z.url().optional(),
});

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
        version: z.literal('1.5.0').describe('Of OCSF.'),
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
            actor: z.object({
              user: z.object({ uid: z.string() }).optional().describe('The user of the run.'),
              session: z.object({ uid: z.string() }).optional().describe('The session of the run.'),
            }),
          }),
        )
        .optional()
        .describe('For whom the agent worked; absent when unknown.'),
      resources: z
        .array(z.object({ type: z.enum(['agent', 'service', 'model']), name: z.string() }))
        .optional()
        .describe('Agent, service and model of the run, as far as known.'),
      unmapped: ocsfUnmapped,
    })
    .describe('A finding as a Detection Finding (class 2004) of OCSF 1.5. Never the excerpt.'),
);
