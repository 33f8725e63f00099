/** The body of the exceptions of a workspace. */
import { z } from 'zod';

import { component, count, timestamp } from '../openapi/component.ts';
import { ruleId } from '../rules/rule-schema.ts';

const exception = component(
  'FindingException',
  z
    .object({
      id: count('Id of the exception.'),
      rule_id: ruleId,
      text: z.boolean().describe('Only matches of the same words, which are stored as a digest.'),
      tool: z
        .string()
        .nullable()
        .describe('Only matches in this tool; empty: in none; null: in any.'),
      agent: z
        .string()
        .nullable()
        .describe('Only runs of this agent; empty: of none; null: of any.'),
      service: z
        .string()
        .nullable()
        .describe('Only runs of this service; empty: of none; null: of any.'),
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
      'Matches of a rule that are expected: those that have all of its parts. A finding is hidden if active exceptions cover every distinct ' +
        'match of its rule in its run. Runs are still evaluated.',
    ),
);

export const exceptionList = component(
  'FindingExceptionList',
  z.object({ exceptions: z.array(exception) }),
);
