/**
 * A run in each state of its evaluation, with what the list, its page, the API and the filter must say about
 * it: that a run has no findings must never sound as if more of it was checked than was.
 */
import type { CheckedRun, RunCheck } from '../../src/model/run-check.ts';
import type { RunSummary } from '../../src/model/runs.ts';

type Fields = Partial<Omit<CheckedRun, 'spans' | 'logRecords'>> &
  Partial<Pick<RunSummary, 'state' | 'textCapBytes' | 'captureHint' | 'unreadKeys'>>;

interface CheckedCase extends RunCheck {
  readonly what: string;
  /** beside five steps, all of them evaluated, with two texts */
  readonly fields: Fields;
  /** in the list */
  readonly cell: string;
  /** on the page of a run without findings */
  readonly page: readonly string[];
}

const UNKNOWN = {
  evaluatedSteps: null,
  unreadSteps: null,
  texts: null,
  surfaces: null,
  truncatedTexts: null,
  textCapBytes: null,
  unparsedValues: null,
  textGaps: null,
  unreadTexts: null,
  unknownRoles: null,
} as const;
const HINT = 'SEND_TEXT=true';

export const CHECKED_CASES: readonly CheckedCase[] = [
  {
    what: 'still running',
    fields: { ...UNKNOWN, state: 'running', evaluation: 'pending' },
    checked: 'pending',
    limits: [],
    cell: 'not yet',
    page: ['Not evaluated yet.'],
  },
  {
    what: 'finished and waiting',
    fields: { ...UNKNOWN, evaluation: 'pending' },
    checked: 'pending',
    limits: [],
    cell: 'not yet',
    page: ['Not evaluated yet.'],
  },
  {
    what: 'given up',
    fields: { ...UNKNOWN, evaluation: 'evaluation_failed' },
    checked: 'failed',
    limits: [],
    cell: 'evaluation failed',
    page: ['This run could not be evaluated: every attempt failed.'],
  },
  {
    what: 'evaluated, with late steps that were given up',
    fields: { evaluation: 'evaluation_failed', evaluatedSteps: 3 },
    checked: 'failed',
    limits: ['late_steps'],
    cell: 'evaluation failed',
    page: [
      'The evaluation of late steps failed:',
      'Not checked: 2 steps that arrived after the evaluation.',
      'Steps that arrived after the evaluation could not be evaluated: every attempt failed.',
    ],
  },
  {
    what: 'without text',
    fields: { texts: 0, surfaces: [], captureHint: HINT },
    checked: 'nothing',
    limits: [],
    cell: 'nothing',
    page: ['Nothing was checked, so no rule could match.', `<code>${HINT}</code>`],
  },
  {
    what: 'without text, of an instrumentation that is not known',
    fields: { texts: 0, surfaces: [] },
    checked: 'nothing',
    limits: [],
    cell: 'nothing',
    page: ['Nothing was checked', 'href="/docs/instrumentations"'],
  },
  {
    what: 'without text in the steps that were read in time',
    fields: { texts: 0, surfaces: [], unreadSteps: 5 },
    checked: 'nothing',
    limits: ['unread_steps'],
    cell: 'nothing',
    page: ['Nothing was checked', '5 steps beyond the limits of one evaluation'],
  },
  {
    what: 'with tool names only',
    fields: { surfaces: ['tool_name'], captureHint: HINT },
    checked: 'tool_names_only',
    limits: [],
    cell: 'only tool names',
    page: ['Only tool names were checked', `<code>${HINT}</code>`],
  },
  {
    what: 'with tool names and marks in place of texts',
    fields: { surfaces: ['tool_name'], textGaps: ['withheld_by_sender'], captureHint: HINT },
    checked: 'tool_names_only',
    limits: ['text_gaps'],
    cell: 'only tool names',
    page: ['Only tool names were checked', 'The sender withheld texts.', `<code>${HINT}</code>`],
  },
  {
    what: 'with a text above the cap',
    fields: { truncatedTexts: 1, textCapBytes: 65_536 },
    checked: 'partly',
    limits: ['truncated_texts'],
    cell: 'not everything: truncated texts',
    page: [
      '2 texts that were checked, but not',
      'Not checked, or not in full: 1 text beyond the 64 KiB of each surface of a step.',
    ],
  },
  {
    what: 'over its CPU time',
    fields: { unreadSteps: 3 },
    checked: 'partly',
    limits: ['unread_steps'],
    cell: 'not everything: unread steps',
    page: ['Not checked, or not in full: 3 steps beyond the limits of one evaluation.'],
  },
  {
    what: 'with a late step',
    fields: { evaluatedSteps: 4 },
    checked: 'partly',
    limits: ['late_steps'],
    cell: 'not everything: late steps',
    page: ['Not checked: 1 step that arrived after the evaluation.'],
  },
  {
    what: 'with a value that is too deep to parse',
    fields: { unparsedValues: 1 },
    checked: 'partly',
    limits: ['unparsed_values'],
    cell: 'not everything: unparsed values',
    page: ['too large or too deeply nested to parse: 1 value.'],
  },
  {
    what: 'whose sender left out text in every way',
    fields: {
      textGaps: ['cut_by_sender', 'dropped_by_sender', 'stored_elsewhere', 'withheld_by_sender'],
      captureHint: HINT,
    },
    checked: 'partly',
    limits: ['text_gaps'],
    cell: 'cut by sender, dropped by sender, stored elsewhere, withheld by sender',
    page: [
      'The sender cut texts at its own maximum length.',
      'The sender dropped attributes or events beyond its limits.',
      'The sender stores texts elsewhere and sent references.',
      'The sender withheld texts.',
      `<code>${HINT}</code>`,
    ],
  },
  {
    what: 'with messages of roles that are not known',
    fields: { unknownRoles: ['narrator', 'oracle'] },
    checked: 'partly',
    limits: ['unknown_roles'],
    cell: 'not everything: unknown roles',
    page: ['because their roles are not known: messages of narrator, oracle.'],
  },
  {
    what: 'with text under keys that are not known',
    fields: { unreadTexts: 3, unreadKeys: ['acme.ask', 'acme.say'] },
    checked: 'partly',
    limits: ['unread_texts'],
    cell: 'not everything: unread texts',
    page: [
      'Not checked: 3 attributes with text under keys that are not known: acme.ask, acme.say.',
    ],
  },
  {
    what: 'with no other text than such',
    fields: { texts: 0, surfaces: [], unreadTexts: 1, unreadKeys: ['acme.ask'] },
    checked: 'nothing',
    limits: ['unread_texts'],
    cell: 'nothing',
    page: ['Nothing was checked', '1 attribute with text under keys that are not known: acme.ask.'],
  },
  {
    what: 'with everything at once',
    fields: {
      evaluatedSteps: 4,
      unreadSteps: 2,
      truncatedTexts: 1,
      unparsedValues: 1,
      textGaps: ['cut_by_sender'],
      unreadTexts: 1,
    },
    checked: 'partly',
    limits: [
      'late_steps',
      'unread_steps',
      'truncated_texts',
      'unparsed_values',
      'text_gaps',
      'unread_texts',
    ],
    cell: 'late steps, unread steps, truncated texts, unparsed values, cut by sender, unread texts',
    page: ['but not everything was checked.'],
  },
  {
    what: 'checked as a whole',
    fields: {},
    checked: 'fully',
    limits: [],
    cell: '2 texts',
    page: ['No rule matched. 2 texts checked: User input, Tool name.'],
  },
];

/** The members of a run that a case is about. */
export function checkedFields({ fields }: CheckedCase) {
  return {
    state: 'completed' as const,
    evaluation: 'evaluated' as const,
    spans: 4,
    logRecords: 1,
    evaluatedSteps: 5,
    unreadSteps: 0,
    texts: 2,
    surfaces: ['step_input', 'tool_name'] as const,
    truncatedTexts: 0,
    textCapBytes: 65_536,
    unparsedValues: 0,
    textGaps: [],
    unreadTexts: 0,
    unreadKeys: [],
    unknownRoles: [],
    captureHint: null,
    ...fields,
  };
}
