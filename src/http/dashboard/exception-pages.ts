/** The pages of exceptions, and the forms that create and end them. Only admins and owners may. */
import { z } from 'zod';

import { SluiceError } from '../../errors.ts';
import { EXCEPTION_DAYS_MAX, EXCEPTION_PARTS, REASON_CHARS_MAX } from '../../model/exceptions.ts';
import { VIEW_QUERY_CHARS_MAX } from '../../model/findings.ts';
import { findingPath } from '../../web/app/findings/list-address.ts';
import { exceptionFormPage, exceptionsPage } from '../../web/app/triage/exceptions.ts';
import { exceptionsQuery } from '../api/exceptions/exception-routes.ts';
import { readForm } from '../transport/json-body.ts';
import { idOf, parsePageQuery } from '../transport/query.ts';
import type { Route } from '../transport/router.ts';
import { type DashboardDependencies, formRoutes, pageRoutes } from './dashboard.ts';
import { type FindingPageDependencies, findingQuery } from './finding-pages.ts';
import { sentence } from './sentence.ts';
import { requireId } from './sign-in/person-fields.ts';
import { ADMINS, type Needs } from './sign-in/signed-in.ts';

export interface ExceptionPageDependencies
  extends DashboardDependencies,
    Pick<FindingPageDependencies, 'exceptions' | 'findings' | 'rules'> {}

const PATH = '/app/exceptions';
const FROM_FINDING = '/app/findings/{findingId}/exception';
const ADMIN: Needs = { roles: ADMINS };

const part = z.literal('yes').optional();
/** The fields of the form. */
export const exceptionForm = z.object({
  list: z.string().max(VIEW_QUERY_CHARS_MAX).optional(),
  text: part,
  tool: part,
  agent: part,
  service: part,
  reason: sentence(REASON_CHARS_MAX),
  days: z
    .string()
    .regex(/^[1-9]\d{0,2}$/, `must be a number of days from 1 to ${EXCEPTION_DAYS_MAX}`)
    .transform(Number)
    .pipe(z.number().max(EXCEPTION_DAYS_MAX)),
});

const noFinding = () => new SluiceError('not_found', 'This workspace has no such finding.');

export function exceptionPages(deps: ExceptionPageDependencies): Route[] {
  const { exceptions, findings, look } = deps;
  const { titleOf } = deps.rules;
  const page = pageRoutes(deps);
  const form = formRoutes(deps);
  return [
    page(PATH, {}, async ({ exchange, request, viewer, nowMs }) => {
      const { rule_id: ruleId } = parsePageQuery(exceptionsQuery, exchange.query);
      const all = await exceptions.list(request.workspace.id);
      const list = ruleId === undefined ? all : all.filter((one) => one.ruleId === ruleId);
      return exceptionsPage(look, viewer, { exceptions: list, ruleId, titleOf, nowMs });
    }),
    page(FROM_FINDING, ADMIN, async ({ exchange, request, viewer, parameters }) => {
      const { id: workspaceId } = request.workspace;
      const { list } = parsePageQuery(findingQuery, exchange.query);
      const findingId = idOf(parameters.findingId);
      const finding = findingId === null ? null : await findings.find(workspaceId, findingId);
      if (finding === null) throw noFinding();
      const offer = await exceptions.offer(workspaceId, finding.id);
      const data = { finding, title: titleOf(finding.ruleId), list, offer };
      return exceptionFormPage(look, viewer, data);
    }),
    form(FROM_FINDING, ADMIN, async ({ exchange, request, parameters }) => {
      const findingId = idOf(parameters.findingId);
      if (findingId === null) throw noFinding();
      const { list, reason, days, ...chosen } = await readForm(exchange, exceptionForm);
      const parts = EXCEPTION_PARTS.filter((one) => chosen[one] !== undefined);
      const made = { parts, reason, days };
      await exceptions.create(request.workspace.id, findingId, made, request.actor);
      return list === undefined ? `/app/findings/${findingId}` : findingPath(findingId, list);
    }),
    form(`${PATH}/{exceptionId}/end`, ADMIN, async ({ request, parameters }) => {
      const id = requireId(parameters.exceptionId);
      await exceptions.end(request.workspace.id, id, request.actor);
      return PATH;
    }),
  ];
}
