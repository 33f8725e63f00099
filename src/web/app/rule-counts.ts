/** The rules of a workspace in numbers, and the quality that their authors state, the same on every page. */
import { type Plan, RULE_PLANS } from '../../model/people.ts';
import {
  allRules,
  type OrphanedOverride,
  RULE_STATES,
  type Rule,
  runningRules,
  type Snapshot,
  STATE_LABELS,
  type StateCounts,
  SUPPORT_LABELS,
  SUPPORTS,
  type SupportCounts,
  shortIdentity,
} from '../../model/rules.ts';
import { type Html, type HtmlValue, html } from '../html.ts';
import { shares } from './charts.ts';
import { count, percentText } from './format.ts';
import type { Viewer } from './shell.ts';

const PATH = '/app/rules';

export interface RuleFacts {
  readonly snapshot: Snapshot;
  /** of the corpus itself, the same for every workspace */
  readonly corpus: SupportCounts;
  /** of this workspace now */
  readonly states: StateCounts;
  readonly experimental: boolean;
  /** of this workspace, with those that have no effect */
  readonly overrides: number;
  /** overrides that have no effect, the first ones */
  readonly orphans: readonly OrphanedOverride[];
}

export function hasRulesTab({ plan }: Pick<Viewer, 'plan'>): boolean {
  return RULE_PLANS.includes(plan as Plan);
}

/** Shows `4.0.0 (0123456789ab)`, with the whole identity as a tooltip. */
export function corpusName(version: string, identity: string): Html {
  return html`${version} (<code title="identity ${identity}">${shortIdentity(identity)}</code>)`;
}

export function stateTable({ states }: RuleFacts, viewer: Viewer): Html {
  const linked = hasRulesTab(viewer);
  const rows = RULE_STATES.map((state) => ({
    label: STATE_LABELS[state],
    href: linked ? `${PATH}?state=${state}` : null,
    value: states[state],
  }));
  return shares('Rules of this workspace by state', 'State', allRules(states), rows);
}

export function supportTable({ corpus }: RuleFacts): Html {
  const rows = SUPPORTS.map((support) => ({
    label: SUPPORT_LABELS[support],
    href: `${PATH}?support=${support}`,
    value: corpus[support],
  }));
  return shares('Rules of the corpus by support', 'Support', allRules(corpus), rows);
}

/** `51 of 785 rules run` */
export function runningText({ states }: Pick<RuleFacts, 'states'>): string {
  return `${count(runningRules(states))} of ${count(allRules(states))} rules run`;
}

export function settingsText({ experimental, overrides }: RuleFacts): string {
  const switched = overrides === 1 ? '1 rule is' : `${count(overrides)} rules are`;
  return `The experimental tier is ${experimental ? 'on' : 'off'}; ${switched} set manually.`;
}

export function qualityCell({ quality: { confidence, maturity, wildFpRate } }: Rule): HtmlValue {
  const words = [
    confidence !== null && `confidence ${confidence}`,
    maturity !== null && `maturity ${maturity}`,
  ].filter((one) => one !== false);
  const rate = wildFpRate !== null && falsePositiveRate(wildFpRate);
  return html`${rate} <span class="soft below">${words.join(', ')}</span>`;
}

/** A false positive rate, in the colour of a warning from one in a hundred. */
export function falsePositiveRate(rate: number): Html {
  const text = `${percentText(rate)} false positives`;
  return rate >= NOISY_PERCENT ? html`<strong class="medium">${text}</strong>` : html`${text}`;
}
const NOISY_PERCENT = 1;
