/** The filter of findings as a query of the API and of the dashboard's pages. */
import { z } from 'zod';
import {
  CATEGORY_BY_NAME,
  FINDING_FILTERS,
  type FilterKind,
  type FilterRow,
} from '../../../model/finding-fields.ts';
import type { FindingFilter } from '../../../model/findings.ts';
import { RUN_NAME_ROWS } from '../../../model/runs.ts';
import { type LIST_STATES, OPEN_STATES } from '../../../model/triage.ts';
import {
  hexId,
  InvalidInput,
  type MomentOrAgo,
  momentOrAgo,
  toDate,
} from '../../transport/input.ts';
import type { ApiContext } from '../authorized.ts';
import { reference } from '../rules/rule-schema.ts';

/** Longest text of a filter: a stored name in double quotes. */
const FILTER_CHARS_MAX = 258;

const text = z.string().max(FILTER_CHARS_MAX);

type Filters = typeof FINDING_FILTERS;
type Parsed<Row> = Row extends { readonly choices: readonly (infer Choice)[] }
  ? Choice
  : Row extends { readonly kind: 'time' }
    ? MomentOrAgo
    : string;

const SCHEMAS: Readonly<Record<FilterKind, (row: FilterRow) => z.ZodType>> = {
  choice: ({ choices = [] }) => z.enum(choices),
  name: () => text,
  text: () => text,
  id: () => hexId,
  rule: () => z.string().regex(/^ATR-\d{4}-\d{5}$/, 'must look like ATR-2026-00001'),
  reference: () => reference,
  time: () => momentOrAgo,
};

export const filterQuery = z.object(
  Object.fromEntries(
    Object.entries<FilterRow>(FINDING_FILTERS).map(([name, row]) => [
      name,
      SCHEMAS[row.kind](row).optional().describe(row.describe),
    ]),
  ) as { [Name in keyof Filters]: z.ZodOptional<z.ZodType<Parsed<Filters[Name]>>> },
);

export const filterExamples = Object.fromEntries(
  Object.entries(FINDING_FILTERS).map(([name, { example }]) => [name, example]),
);

function stateFilter(state: (typeof LIST_STATES)[number]): FindingFilter {
  if (state === 'open') return { states: OPEN_STATES, isExcepted: false };
  if (state === 'excepted') return { isExcepted: true };
  return state === 'all' ? {} : { states: [state] };
}

/** @param me e-mail address of the signed-in user; a key has none, and gets an InvalidInput for `me` */
export function filterOf(
  query: z.infer<typeof filterQuery>,
  { rules, nowMs }: ApiContext,
  me: string | null,
): FindingFilter {
  const { reference, category, state = 'all' } = query;
  const assignee = query.assignee === 'me' ? me : query.assignee;
  if (assignee === null) {
    const message = 'me is for signed-in users; use an e-mail address';
    throw new InvalidInput('bad_query', [{ path: 'assignee', message }]);
  }
  const now = nowMs();
  return {
    ...stateFilter(state),
    ...Object.fromEntries(RUN_NAME_ROWS.map(({ key, name }) => [key, query[name]])),
    assignee: assignee === 'none' ? null : assignee || undefined,
    ruleIds: reference === undefined ? undefined : rules.references.rulesOf(reference),
    severity: query.severity,
    category: category === undefined ? undefined : CATEGORY_BY_NAME.get(category),
    ruleId: query.rule_id,
    runId: query.run_id,
    surface: query.surface,
    search: query.q,
    sameAs: query.same_as,
    since: toDate(query.since, now),
    until: toDate(query.until, now),
  };
}
