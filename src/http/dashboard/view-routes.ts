/** Saved views of the findings list: forms that save, choose and delete one. For every member. */
import { z } from 'zod';

import type { Store } from '../../db/store.ts';
import { VIEW_QUERY_CHARS_MAX } from '../../model/findings.ts';
import { FINDINGS_PATH, viewPath } from '../../web/app/findings/finding-filters.ts';
import { readForm } from '../transport/json-body.ts';
import { flag } from '../transport/query.ts';
import type { Route } from '../transport/router.ts';
import { type DashboardDependencies, formRoutes } from './dashboard.ts';
import { name, requireId } from './sign-in/person-fields.ts';

export interface ViewDependencies extends DashboardDependencies {
  readonly findingViews: Store['findingViews'];
}

const VIEWS = `${FINDINGS_PATH}/views`;
const box = z.literal('on').optional();
/** Which part of the list a person sees is not part of a view. */
const PASSING = ['cursor', 'newest', 'workspace', 'done'];

const viewForm = z.object({
  name,
  query: z
    .string()
    .max(VIEW_QUERY_CHARS_MAX)
    .transform((text) => {
      const query = new URLSearchParams(text);
      for (const [key, value] of [...query]) {
        if (value === '' || PASSING.includes(key)) query.delete(key);
      }
      return query.toString();
    }),
  shared: box,
  default: box,
});

export function viewRoutes({ findingViews: views, ...deps }: ViewDependencies): Route[] {
  const form = formRoutes(deps);
  return [
    form(VIEWS, {}, async ({ exchange, request: { workspace, actor } }) => {
      const { shared, default: first, ...sent } = await readForm(exchange, viewForm);
      const view = { ...sent, isShared: shared === 'on', isDefault: first === 'on' };
      await views.save(workspace.id, view, actor);
      return viewPath(sent.query);
    }),
    form(`${VIEWS}/{viewId}/default`, {}, async ({ exchange, request, parameters }) => {
      const sent = await readForm(exchange, z.object({ default: flag }));
      const id = requireId(parameters.viewId);
      await views.setDefault(request.workspace.id, id, sent.default, request.actor);
      return viewPath('');
    }),
    form(`${VIEWS}/{viewId}/delete`, {}, async ({ request, parameters }) => {
      await views.delete(request.workspace.id, requireId(parameters.viewId), request.actor);
      return viewPath('');
    }),
  ];
}
