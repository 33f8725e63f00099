/** The threat rules: which run, why the others do not, and their switches. */
import {
  CATEGORIES,
  type DecidedBy,
  RULE_STATUSES,
  type Rule,
  type Snapshot,
  SUPPORTS,
  type SupportCounts,
} from '../../model/rules.ts';
import { type Html, type HtmlValue, html } from '../html.ts';
import { count, words } from './format.ts';
import {
  appPage,
  choice,
  empty,
  field,
  type Look,
  scrolling,
  severityBadge,
  type Viewer,
  writeForm,
  writeTo,
} from './shell.ts';

const PATH = '/app/rules';

/** A rule, and whether it runs for this workspace. */
export interface DecidedRule {
  readonly rule: Rule;
  readonly enabled: boolean;
  readonly decidedBy: DecidedBy;
  readonly override: boolean | null;
}

export interface RulesPage {
  readonly snapshot: Snapshot;
  readonly counts: SupportCounts;
  readonly experimental: boolean;
  readonly rules: readonly DecidedRule[];
  readonly query: string;
  readonly page: number;
  readonly pages: number;
  readonly total: number;
}

/** The page of plans without the rules tab. */
export function upgradePage(look: Look, viewer: Viewer): Html {
  return appPage(look, viewer, {
    title: 'Rules',
    current: PATH,
    main: html`<h1>Rules</h1>
<section class="panel upgrade"><h2>Part of the Team plan</h2>
<p>This workspace is on the ${viewer.plan} plan. Its runs are matched against the stable rules all the same, and its
<a href="/app/findings">findings</a> are all here.</p>
<p>With Team you see every rule here, switch the experimental tier on, and switch single rules on and off. Over the API
the rules can be read on every plan: <a href="/docs/api">GET /platform/v1/atr/rules</a>.</p>
<p class="soft">The operator of this server changes the plan with <code>sluice workspace plan</code>.</p></section>`,
  });
}

const DECIDED: Readonly<Record<DecidedBy, string>> = {
  support: 'by what the engine can do',
  own_examples: 'by its own examples',
  tier: 'by its tier',
  override: 'by this workspace',
};

/** Whether a rule runs, and what decides it. */
export function state({ enabled, decidedBy }: DecidedRule): Html {
  const word = enabled
    ? html`<strong class="low">runs</strong>`
    : html`<span class="soft">off</span>`;
  return html`${word} <span class="soft below">${DECIDED[decidedBy]}</span>`;
}

/** Rules that the corpus or the engine excludes have no switch. */
const canBeSwitched = ({ rule }: DecidedRule): boolean =>
  (rule.support === 'as_written' || rule.support === 'degraded') &&
  (rule.status === 'stable' || rule.status === 'experimental');

const CHOICES = [
  { value: 'null', label: 'by tier', override: null },
  { value: 'true', label: 'on', override: true },
  { value: 'false', label: 'off', override: false },
] as const;

/** The switch of a rule: three buttons, the current choice pressed. */
export function overrideSwitch(one: DecidedRule, viewer: Viewer): HtmlValue {
  if (!canBeSwitched(one)) return html`<span class="soft">cannot be switched</span>`;
  if (!viewer.isAdmin) {
    return html`<span class="soft">${CHOICES.find(({ override }) => override === one.override)?.label}</span>`;
  }
  const { id } = one.rule;
  const buttons = html`<div role="group" aria-label="Switch ${id}">${CHOICES.map(
    ({ value, label, override }) =>
      html`<button name="enabled" value="${value}" aria-pressed="${String(override === one.override)}">${label}</button>`,
  )}</div>`;
  return writeForm(writeTo(`${PATH}/${id}`, viewer), buttons, 'switch');
}

function tierSwitch(experimental: boolean, viewer: Viewer): Html {
  const text = experimental
    ? 'Experimental rules run, too.'
    : 'Only stable rules run, and rules that are switched on one by one.';
  return html`<section class="panel"><h2>Experimental tier</h2><p>${text}
<span class="soft">A change takes effect from the next pass; runs that are already evaluated are not evaluated again.</span></p>
${
  viewer.isAdmin &&
  writeForm(
    writeTo(PATH, viewer),
    html`<input type="hidden" name="experimental" value="${String(!experimental)}">
<button>Switch the experimental tier ${experimental ? 'off' : 'on'}</button>`,
  )
}</section>`;
}

function countCards(counts: SupportCounts): Html {
  const card = (support: keyof SupportCounts, label: string) =>
    html`<div class="panel"><p class="figure"><a href="${PATH}?support=${support}">${count(counts[support])}</a></p><p class="soft">${label}</p></div>`;
  return html`<div class="grid cards">${card('as_written', 'run as written')}${card('degraded', 'run degraded: some conditions need what RE2 lacks')}
${card('unsupported', 'cannot run here')}${card('fails_own_examples', 'fail their own examples, and never run')}</div>`;
}

/** The form of the filter, with what the query has. */
export function ruleFilters(query: string): Html {
  const given = new URLSearchParams(query);
  return html`<form class="filters" method="get" action="${PATH}" role="search" aria-label="Rules">
${field('q', 'Search', given.get('q'), { type: 'search', hint: 'title, id, description' })}
${choice('status', 'Status', RULE_STATUSES, given.get('status'))}
${choice('support', 'Support', SUPPORTS, given.get('support'))}
${choice('category', 'Category', CATEGORIES, given.get('category'))}
${choice(
  'enabled',
  'State',
  [
    ['true', 'runs'],
    ['false', 'off'],
  ],
  given.get('enabled'),
)}
<div class="buttons"><button>Filter</button> <a class="button quiet" href="${PATH}">Clear</a></div></form>`;
}

function pages({ query, page, pages: last }: RulesPage): Html {
  const link = (to: number, label: string) => {
    const own = new URLSearchParams(query);
    own.set('page', String(to));
    return html`<a class="button quiet" href="${PATH}?${own.toString()}">${label}</a>`;
  };
  return html`<nav class="pager" aria-label="Pages">${page > 1 && link(page - 1, 'Previous')}
<span class="soft">page ${page} of ${Math.max(1, last)}</span>${page < last && link(page + 1, 'Next')}</nav>`;
}

function ruleRow(one: DecidedRule, viewer: Viewer): Html {
  const { rule } = one;
  return html`<tr><td data-label="Severity">${severityBadge(rule.severity)}</td>
<td data-label="Rule"><a href="${PATH}/${rule.id}">${rule.title}</a> <span class="soft below">${rule.id}</span></td>
<td data-label="Category">${words(rule.category)}</td><td data-label="Status">${rule.status}</td>
<td data-label="Support">${words(rule.support)}</td><td data-label="State">${state(one)}</td>
<td data-label="Switch">${overrideSwitch(one, viewer)}</td></tr>
`;
}

function table(rules: readonly DecidedRule[], viewer: Viewer): Html {
  return scrolling(
    'Rules',
    html`<table class="stack" aria-label="Rules"><thead><tr><th scope="col">Severity</th><th scope="col">Rule</th>
<th scope="col">Category</th><th scope="col">Status</th><th scope="col">Support</th><th scope="col">State</th>
<th scope="col">Switch</th></tr></thead><tbody>${rules.map((one) => ruleRow(one, viewer))}</tbody></table>`,
  );
}

export function rulesPage(look: Look, viewer: Viewer, data: RulesPage): Html {
  const { snapshot, rules, total } = data;
  return appPage(look, viewer, {
    title: 'Rules',
    current: PATH,
    main: html`<h1>Rules</h1>
<p class="lead">agent-threat-rules ${snapshot.version} of ${snapshot.date}, ${count(snapshot.files)} files, each checked
against a manifest. <a href="/docs/rules-coverage">What runs and what does not</a>.</p>
${countCards(data.counts)}
${tierSwitch(data.experimental, viewer)}
${ruleFilters(data.query)}
<p class="soft">${count(total)} ${total === 1 ? 'rule' : 'rules'}</p>
${
  rules.length === 0
    ? empty('No rule matches this filter', html`<p><a href="${PATH}">Show all rules</a></p>`)
    : html`${table(rules, viewer)}${pages(data)}`
}`,
  });
}
