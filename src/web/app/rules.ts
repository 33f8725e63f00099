/** The threat rules: which run, why the others do not, and the switches; else what the plan lacks. */
import {
  CATEGORIES,
  type DecidedBy,
  RULE_STATUSES,
  type Rule,
  type Snapshot,
  SUPPORTS,
  type SupportCounts,
} from '../../model.ts';
import { type Html, type HtmlValue, html } from '../html.ts';
import { count, words } from './format.ts';
import { appPage, choice, facts, field, type Look, severityBadge, type Viewer } from './shell.ts';

const PATH = '/app/rules';

/** A rule, and what this workspace makes of it. */
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

/** What stands in the place of the rules on plans without them. */
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
<p class="soft">Whoever runs this server changes the plan: <code>sluice workspace plan ${viewer.workspaceName} team</code></p></section>`,
  });
}

const DECIDED: Readonly<Record<DecidedBy, string>> = {
  support: 'by what the engine can do',
  own_examples: 'by its own examples',
  tier: 'by its tier',
  override: 'by this workspace',
};

function state({ enabled, decidedBy }: DecidedRule): Html {
  const word = enabled
    ? html`<strong class="low">runs</strong>`
    : html`<span class="soft">off</span>`;
  return html`${word}<br><span class="soft">${DECIDED[decidedBy]}</span>`;
}

/** A rule that the corpus or the engine refuses has no switch. */
const canBeSwitched = ({ rule }: DecidedRule): boolean =>
  (rule.support === 'as_written' || rule.support === 'degraded') &&
  (rule.status === 'stable' || rule.status === 'experimental');

function overrideSwitch(one: DecidedRule, viewer: Viewer): HtmlValue {
  if (!canBeSwitched(one)) return html`<span class="soft">cannot be switched</span>`;
  if (!viewer.isAdmin) return one.override === null ? null : one.override ? 'on' : 'off';
  const chosen = one.override === null ? 'null' : String(one.override);
  const choiceOf = (value: string, label: string) =>
    value === chosen
      ? html`<option value="${value}" selected>${label}</option>`
      : html`<option value="${value}">${label}</option>`;
  return html`<form data-api="PUT /app/api/atr/rules/${one.rule.id}" data-then="reload" data-on-change>
<label><span class="hidden">Switch ${one.rule.id}</span><select name="enabled" data-type="json">
${choiceOf('null', 'by tier')}${choiceOf('true', 'on')}${choiceOf('false', 'off')}</select></label>
<p role="alert"></p></form>`;
}

function tierSwitch(experimental: boolean, viewer: Viewer): Html {
  const text = experimental
    ? 'Experimental rules run, too.'
    : 'Only stable rules run, and those switched on one by one.';
  return html`<section class="panel"><h2>Experimental tier</h2><p>${text}
<span class="soft">A change takes effect from the next pass; runs already evaluated are not looked at again.</span></p>
${
  viewer.isAdmin &&
  html`<form data-api="PUT /app/api/atr/settings" data-then="reload">
<input type="hidden" name="experimental" data-type="json" value="${String(!experimental)}">
<button>${experimental ? 'Switch off' : 'Switch on'}</button><p role="alert"></p></form>`
}</section>`;
}

function countCards(counts: SupportCounts): Html {
  const card = (support: keyof SupportCounts, label: string) =>
    html`<div class="panel"><p class="figure"><a href="${PATH}?support=${support}">${count(counts[support])}</a></p><p class="soft">${label}</p></div>`;
  return html`<div class="grid">${card('as_written', 'run as written')}${card('degraded', 'run degraded: some conditions need what RE2 has not')}
${card('unsupported', 'cannot run here')}${card('fails_own_examples', 'fail their own examples, and never run')}</div>`;
}

function filters(query: string): Html {
  const given = new URLSearchParams(query);
  return html`<form class="filters" method="get" action="${PATH}" role="search">
${field('q', 'Search', given.get('q'), 'search')}
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
<button>Filter</button> <a class="button quiet" href="${PATH}">Clear</a></form>`;
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
${filters(data.query)}
<p class="soft">${count(total)} rules</p>
<div class="scroll"><table aria-label="Rules"><thead><tr><th>Severity</th><th>Rule</th><th>Category</th><th>Status</th>
<th>Support</th><th>State</th><th>Switch</th></tr></thead><tbody>${rules.map(
      (one) => html`<tr><td>${severityBadge(one.rule.severity)}</td>
<td><a href="${PATH}/${one.rule.id}">${one.rule.title}</a><br><span class="soft">${one.rule.id}</span></td>
<td>${words(one.rule.category)}</td><td>${one.rule.status}</td><td>${words(one.rule.support)}</td>
<td>${state(one)}</td><td>${overrideSwitch(one, viewer)}</td></tr>`,
    )}</tbody></table></div>${pages(data)}`,
  });
}

export function rulePage(look: Look, viewer: Viewer, one: DecidedRule): Html {
  const { rule } = one;
  const { failed, truePositives, trueNegatives } = rule.ownExamples;
  return appPage(look, viewer, {
    title: rule.title,
    current: PATH,
    main: html`<p><a href="${PATH}">Rules</a></p><h1>${rule.title}</h1>
<p class="lead">${severityBadge(rule.severity)} ${rule.id} · ${words(rule.category)}</p>
<div class="grid wide">
<section class="panel"><h2>State</h2><p>${state(one)}</p>${overrideSwitch(one, viewer)}</section>
<section class="panel"><h2>About</h2>${facts([
      ['Status', rule.status],
      ['Support', words(rule.support)],
      ['Version', rule.version],
      ['Author', rule.author],
      ['Date', rule.date],
      ['Subcategory', rule.subcategory === null ? null : words(rule.subcategory)],
      ['Own examples', `${truePositives} to match, ${trueNegatives} not to; ${failed.length} fail`],
      ['Findings', html`<a href="/app/findings?rule_id=${rule.id}">Show them</a>`],
    ])}</section></div>
<p>${rule.description}</p>
${
  rule.unsupportedReasons.length > 0 &&
  html`<section class="notice"><p>Why it does not run as written:</p><ul>${rule.unsupportedReasons.map(
    ({ message }) => html`<li>${message}</li>`,
  )}</ul></section>`
}
<h2>Conditions <span class="soft">(${rule.condition === 'any' ? 'any one is enough' : 'all within one step'})</span></h2>
<div class="scroll"><table><thead><tr><th>Field</th><th>Description</th><th>Pattern</th><th>Runs</th></tr></thead><tbody>
${rule.conditions.map(
  (
    condition,
  ) => html`<tr><td>${condition.field}<br><span class="soft">${condition.surfaces.map(words).join(', ')}</span></td>
<td>${condition.description}</td><td><code>${condition.pattern}</code></td>
<td>${condition.supported ? 'yes' : html`<span class="medium">${condition.reason?.message}</span>`}</td></tr>`,
)}</tbody></table></div>
${
  failed.length > 0 &&
  html`<h2>Own examples that fail</h2><ul>${failed.map(
    ({ kind, index, why }) => html`<li>${words(kind)} ${index + 1}: ${why}</li>`,
  )}</ul>`
}
<h2>Recommended actions</h2><ul>${rule.recommendedActions.map((action) => html`<li>${words(action)}</li>`)}</ul>`,
  });
}
