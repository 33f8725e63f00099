/** The body of the exceptions of a workspace. */
import { z } from 'zod';

import { EXCEPTION_SCOPES } from '../../../model/exceptions.ts';
import { component, count, timestamp } from '../openapi/component.ts';
import { ruleId } from '../rules/rule-schema.ts';

const exception = component(
  'FindingException',
  z
    .object({
      id: count('Id of the exception.'),
      rule_id: ruleId,
      scope: z
        .enum(EXCEPTION_SCOPES)
        .describe(
          'What a match has to have in common: `match` is text, tool, agent and service together.',
        ),
      name: z
        .string()
        .nullable()
        .describe(
          'Of the agent, service or tool; null for `match` and `text`, whose text is stored as a digest.',
        ),
      agent: z.string().nullable().optional().describe('Of `match`; null: the run has none.'),
      service: z.string().nullable().optional().describe('Of `match`; null: the run has none.'),
      tool: z.string().nullable().optional().describe('Of `match`; null: the step has none.'),
      reason: z.string().describe('As it was written when the exception was made.'),
      created_by: z.string().describe('E-mail address at that time.'),
      created_at: timestamp('When it was made.'),
      expires_at: timestamp('When it expires.'),
      ended_at: timestamp('When a user ended it before it expired.').nullable(),
      ended_by: z.string().nullable().describe('E-mail address at that time.'),
      is_active: z.boolean().describe('Neither ended nor expired.'),
      hidden: z
        .object({
          count: count("Findings that it hides, of the rule's newest 5,000."),
          is_exact: z.boolean().describe('False: the rule has more findings than were counted.'),
          last_at: timestamp('When the newest of them was stored.').nullable(),
        })
        .describe('What it has hidden from the default list and from alerts.'),
    })
    .describe(
      'Matches of a rule that are expected. A finding is hidden if active exceptions cover every distinct ' +
        'match of its rule in its run. Runs are still evaluated.',
    ),
);

export const exceptionList = component(
  'FindingExceptionList',
  z.object({ exceptions: z.array(exception) }),
);
