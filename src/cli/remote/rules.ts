/**
 * `sluice rules …` through a login: the rules of that server, and which of them run in the login's
 * workspace. They are switched in the dashboard only.
 */
import { z } from 'zod';

import {
  allRules,
  RULE_STATES,
  STATE_LABELS,
  SUPPORT_LABELS,
  SUPPORTS,
} from '../../model/rules.ts';
import { surfaceLabel } from '../../model/steps.ts';
import { paint } from '../../terminal/paint.ts';
import { corpusLine, stateLines } from '../../terminal/rule-counts.ts';
import { answer, type OutputOptions } from '../answer.ts';
import { renderTable } from '../table.ts';
import type { ServerLogin } from './logins.ts';
import { parts } from './reader.ts';
import { call, plain } from './server-call.ts';

const PATH = '/cli/v1/rules';
/** The most that a server answers at once. */
const RULES_OF_PAGE = 500;
/** Far above any corpus; a server that counts wrongly must not keep a command busy. */
const PAGES_MAX = 100;

const item = z.object({
  id: z.string(),
  title: z.string(),
  severity: z.string(),
  version: z.string(),
  status: z.string(),
  category: z.string(),
  support: z.enum(SUPPORTS),
  state: z.enum(RULE_STATES),
});
const page = z.looseObject({
  snapshot: z.looseObject({ version: z.string(), identity: z.string() }),
  counts: z.record(z.enum(RULE_STATES), z.number()),
  corpus_counts: z.record(z.enum(SUPPORTS), z.number()),
  experimental: z.boolean(),
  total: z.number(),
  total_pages: z.number(),
  rules: z.array(z.looseObject(item.shape)),
});
const rule = item.extend({
  description: z.string(),
  condition: z.string(),
  conditions: z.array(
    z.object({
      index: z.number(),
      field: z.string(),
      surfaces: z.array(z.string()),
      description: z.string(),
      pattern: z.string(),
      supported: z.boolean(),
    }),
  ),
  recommended_actions: z.array(z.string()),
});

interface ListOptions extends OutputOptions {
  readonly status?: string;
  readonly support?: string;
  readonly category?: string;
  /** in the login's workspace */
  readonly state?: string;
}

export async function listRulesThere(login: ServerLogin, options: ListOptions): Promise<void> {
  const { status, support, category, state } = options;
  const read = async (number: number) => {
    const query = { status, support, category, state, page: String(number) };
    const body = await call(login, PATH, { query: { ...query, per_page: String(RULES_OF_PAGE) } });
    return parts(page, body);
  };
  const { snapshot, counts, corpus_counts, experimental, ...first } = await read(1);
  const rules = [...first.rules];
  for (let number = 2; number <= Math.min(first.total_pages, PAGES_MAX); number += 1) {
    rules.push(...(await read(number)).rules);
  }
  const { workspace } = login;
  answer(options, { snapshot, workspace, experimental, counts, corpus_counts, rules }, () =>
    [
      renderTable(
        [
          { title: 'RULE' },
          { title: 'SEVERITY' },
          { title: 'STATUS' },
          { title: `IN ${workspace.toUpperCase()}` },
          { title: 'CATEGORY' },
          { title: 'TITLE', shrinks: true },
        ],
        rules.map((one) => [
          plain(one.id),
          plain(one.severity),
          plain(one.status),
          STATE_LABELS[one.state],
          plain(one.category),
          plain(one.title),
        ]),
      ),
      '',
      `${rules.length} of ${allRules(counts)} rules listed`,
      ...stateLines(counts),
      plain(corpusLine(snapshot, corpus_counts)),
    ].join('\n'),
  );
}

export async function showRuleThere(
  login: ServerLogin,
  id: string,
  options: OutputOptions,
): Promise<void> {
  const body = await call(login, `${PATH}/${id}`);
  answer(options, body, () => {
    const one = parts(rule, body);
    const heading = (text: string) => `\n${paint.bold(text)}`;
    return [
      `${paint.bold(plain(one.id))}  ${plain(one.title)}`,
      `${plain(one.severity)} · ${plain(one.status)} · ${plain(one.category)} · version ` +
        `${plain(one.version)} · ${SUPPORT_LABELS[one.support]}`,
      heading('What it detects'),
      ...one.description.trim().split('\n').map(plain),
      heading(`Conditions (${plain(one.condition)} of them)`),
      ...one.conditions.flatMap((condition) => [
        `  ${condition.index}. ${plain(condition.field)} → ` +
          `${plain(condition.surfaces.map(surfaceLabel).join(', ') || 'not in a run')}`,
        `     ${plain(condition.description)}`,
        `     ${paint.dim(plain(condition.pattern))}`,
        ...(condition.supported ? [] : [`     ${paint.yellow('does not run')}`]),
      ]),
      heading("Actions that the rule's author recommends (never carried out)"),
      ...one.recommended_actions.map((action) => `  ${plain(action)}`),
      heading(`In workspace "${login.workspace}"`),
      `  ${STATE_LABELS[one.state]}`,
    ].join('\n');
  });
}
