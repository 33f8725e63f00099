/**
 * The filters of the findings list, a row each. From it are made the parameters of the API with their examples,
 * the form of the dashboard, the options of `sluice findings list` and the type of the filter; the conditions are
 * in db/findings/finding-filter.ts. A filter by a name of the run comes from its row in `RUN_NAMES`.
 */
import { REFERRING } from './references/rule-references.ts';
import { CATEGORIES, type Category, SEVERITIES } from './rules.ts';
import { RUN_NAMES } from './runs.ts';
import { SURFACES } from './steps.ts';
import { LIST_STATES } from './triage.ts';

/** Returns the name of a category in addresses and in the API. */
export const categoryName = (category: Category): string => `atr_${category.replaceAll('-', '_')}`;

export const CATEGORY_BY_NAME: ReadonlyMap<string, Category> = new Map(
  CATEGORIES.map((category) => [categoryName(category), category]),
);

export type FilterKind = 'choice' | 'name' | 'text' | 'id' | 'rule' | 'reference' | 'time';

export interface FilterRow {
  readonly kind: FilterKind;
  readonly label: string;
  readonly choices?: readonly string[];
  /** an example, shown in an empty field */
  readonly hint?: string;
  readonly describe: string;
  readonly example: string;
  /** of the command line, with its help; absent where it has none */
  readonly option?: readonly [flag: string, help: string];
  /** outside of "More filters"; `given`: only a link of a page sets it */
  readonly shown?: 'always' | 'given';
}

const row = <const Row extends FilterRow>(given: Row): Row => given;

function name(of: keyof typeof RUN_NAMES, example: string): FilterRow & { readonly kind: 'name' } {
  const { label } = RUN_NAMES[of];
  const what = label.toLowerCase();
  return {
    kind: 'name',
    label,
    describe: `Only findings whose ${what} contains this, in any case; in double quotes, the whole ${what}.`,
    example,
    option: [`--${what} <text>`, `only findings whose ${what} contains this text`],
  };
}

/** In the order of the form. */
export const FINDING_FILTERS = {
  q: row({
    kind: 'text',
    label: 'Search',
    hint: 'rule or excerpt',
    describe:
      "Only findings with every one of these words in the rule's id, title or category, or with the whole " +
      'text in an excerpt that is not redacted.',
    example: 'ignore all previous',
    option: ['--search <text>', 'words of the rule, or text of an excerpt'],
    shown: 'always',
  }),
  state: row({
    kind: 'choice',
    label: 'State',
    choices: LIST_STATES,
    describe:
      'Only findings in this state. `open`: new, acknowledged or confirmed, and not covered by an active exception. ' +
      '`excepted`: covered by one.',
    example: 'open',
    option: ['--state <state>', 'open: not decided yet'],
    shown: 'always',
  }),
  severity: row({
    kind: 'choice',
    label: 'Severity',
    choices: SEVERITIES,
    describe: 'Only findings of this severity.',
    example: 'high',
    option: ['--severity <severity>', ''],
    shown: 'always',
  }),
  agent: { ...name('agentName', 'shop'), shown: 'always' as const },
  service: { ...name('serviceName', 'shop'), shown: 'always' as const },
  surface: row({
    kind: 'choice',
    label: 'Found in',
    choices: SURFACES,
    describe: 'Only findings on this surface.',
    example: 'tool_result',
    option: ['--surface <surface>', ''],
    shown: 'always',
  }),
  assignee: row({
    kind: 'text',
    label: 'Assignee',
    describe:
      'Only findings assigned to the user with this e-mail address; `none`: to nobody; `me`: to the signed-in ' +
      'user, on the dashboard and a signed-in command line.',
    example: 'none',
    option: [
      '--assignee <email>',
      'only findings assigned to this user; me: to you, with a login; none: unassigned',
    ],
  }),
  user_id: name('userId', 'user-1'),
  session_id: name('sessionId', 'session-1'),
  model: name('model', 'demo-model'),
  category: row({
    kind: 'choice',
    label: 'Category',
    choices: [...CATEGORY_BY_NAME.keys()],
    describe: 'Only findings of this category.',
    example: 'atr_prompt_injection',
    option: ['--category <category>', 'for example atr_prompt_injection'],
  }),
  rule_id: row({
    kind: 'rule',
    label: 'Rule',
    hint: 'ATR-2026-00001',
    describe: 'Only findings of this rule.',
    example: 'ATR-2026-00001',
    option: ['--rule <id>', 'only findings of this rule, for example ATR-2026-00001'],
  }),
  reference: row({
    kind: 'reference',
    label: 'Reference',
    hint: 'AML.T0051 or LLM01',
    describe: `Only findings of rules ${REFERRING}`,
    example: 'AML.T0051',
    option: [
      '--reference <id>',
      'only findings of rules that refer to this, for example AML.T0051 or LLM01',
    ],
  }),
  since: row({
    kind: 'time',
    label: 'Since',
    describe: 'Only findings stored then or later; `24h`, `7d`: that long before now.',
    example: '2025-11-01',
    option: ['--since <time>', 'stored since: 24h, 7d, or an ISO 8601 date, or date and time'],
  }),
  until: row({
    kind: 'time',
    label: 'Before',
    describe: 'Only findings stored before; as `since`.',
    example: '2125-11-01T00:00:00+01:00',
    option: ['--until <time>', 'stored before this time, as --since'],
  }),
  run_id: row({
    kind: 'id',
    label: 'Run',
    describe: 'Only findings in this run.',
    example: '5b8efff798038103d269b633813fc60c',
    option: ['--run <id>', 'only findings in this run'],
    shown: 'given',
  }),
  same_as: row({
    kind: 'id',
    label: 'Repetitions of',
    describe:
      'Only repetitions of the finding with this id: of the same rule and matched text, and of the same agent, ' +
      'or service where no agent is known.',
    example: '7d0c8a4be1f34c0f9b6f2a1d5e8c3b42',
    shown: 'given',
  }),
};
