/** `GET /platform/v1/finding-exceptions`: active exceptions first, of each part the newest first. */
import { z } from 'zod';

import type { Store } from '../../../db/store.ts';
import type { FindingException } from '../../../model/exceptions.ts';
import { json } from '../../transport/problem.ts';
import { parseQuery } from '../../transport/query.ts';
import type { AuthorizedHandler } from '../authorized.ts';
import type { BodyOf } from '../openapi/component.ts';
import type { exceptionList } from './exception-schema.ts';

export type ExceptionReader = Pick<Store['exceptions'], 'list'>;

export const exceptionsQuery = z.object({
  rule_id: z
    .string()
    .regex(/^ATR-\d{4}-\d{5}$/, 'must look like ATR-2026-00001')
    .optional()
    .describe('Only exceptions of this rule.'),
  active: z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .optional()
    .describe('`true`: only active exceptions; `false`: only ended and expired ones.'),
});

export function toException(exception: FindingException) {
  const { hidden } = exception;
  return {
    id: exception.id,
    rule_id: exception.ruleId,
    text: exception.text,
    tool: exception.tool,
    agent: exception.agent,
    service: exception.service,
    reason: exception.reason,
    created_by: exception.createdBy,
    created_at: exception.createdAt.toISOString(),
    expires_at: exception.expiresAt.toISOString(),
    ended_at: exception.endedAt?.toISOString() ?? null,
    ended_by: exception.endedBy,
    is_active: exception.isActive,
    hidden: {
      count: hidden.count,
      is_exact: !hidden.isCut,
      last_at: hidden.last?.toISOString() ?? null,
    },
  };
}

/** A workspace has a bounded number of exceptions, so there are no pages. */
export function listExceptions(reader: ExceptionReader): AuthorizedHandler {
  return async (exchange, { workspaceId }) => {
    const { rule_id: ruleId, active } = parseQuery(exceptionsQuery, exchange.query);
    const all = await reader.list(workspaceId);
    const body: BodyOf<typeof exceptionList> = {
      exceptions: all
        .filter((one) => ruleId === undefined || one.ruleId === ruleId)
        .filter((one) => active === undefined || one.isActive === active)
        .map(toException),
    };
    return json(body);
  };
}
