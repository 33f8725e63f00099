/** The threat rules: which run, why the others do not, and their switches. */
import { NO_RECORD, type RuleRecord } from '../../model/findings.ts';
import {
  ORDER_LABELS,
  RULE_ORDERS,
  type RuleOrder,
  type RuleRecords,
} from '../../model/rule-order.ts';
import {
  CATEGORIES,
  canRun,
  type DecidedBy,
  MATURITIES,
  RULE_STATES,
  RULE_STATUSES,
  type Rule,
  type RuleState,
  STATE_LABELS,
  SUPPORT_LABELS,
  SUPPORTS,
} from '../../model/rules.ts';
import { type Html, type HtmlValue, html } from '../html.ts';
import { count, percentText, term, time, words } from './format.ts';
import { PREVIEWS, type TierPreview, tierPreview } from './previews/previews.ts';
import {
  corpusName,
  qualityCell,
  type RuleFacts,
  runningText,
  settingsText,
  stateTable,
  supportTable,
} from './rule-counts.ts';
import {
  appPage,
  choice,
  confirmed,
  empty,
  field,
  folded,
  type Look,
  listTable,
  scrolling,
  severityBadge,
  type Viewer,
  writeForm,
  writeTo,
} from './shell.ts';

const PATH = '/app/rules';

export interface DecidedRule {
  readonly rule: Rule;
  readonly enabled: boolean;
  readonly decidedBy: DecidedBy;
  readonly state: RuleState;
  readonly override: boolean | null;
}

export interface RulesPage extends RuleFacts {
  readonly tier: TierPreview;
  readonly rules: readonly DecidedRule[];
  readonly records: RuleRecords;
  readonly query: string;
  readonly page: number;
  readonly pages: number;
  readonly total: number;
  readonly nowMs: number;
}

/** The workspace's settings, and for owners the way back to the defaults. */
function reset(facts: RuleFacts, viewer: Viewer): HtmlValue {
  if (!facts.experimental && facts.overrides === 0) return null;
  const form = writeForm(
    writeTo(`${PATH}/reset`, viewer),
    html`<button class="danger">Reset to the default rules</button>`,
  );
  return html`<p>${settingsText(facts)}</p>${
    viewer.role === 'owner'
      ? confirmed(
          'Reset to the default rules',
          html`Switches the experimental tier off and removes all manual settings of rules. The ${term('audit-log', 'audit log')} keeps a record of them.`,
          form,
        )
      : html`<p class="soft">Only an owner can reset the rules.</p>`
  }`;
}

export function upgradePage(look: Look, viewer: Viewer, data: RuleFacts): Html {
  const kept = reset(data, viewer);
  return appPage(look, viewer, {
    title: 'Rules',
    current: PATH,
    main: html`<h1>Rules</h1>
<div class="grid wide"><section class="panel upgrade"><h2>Available on the Team plan</h2>
<p>This workspace is on the ${viewer.plan} plan. ${term('rule-and-corpus', 'Rules')} that are on still check its ${term('run', 'runs')}, and all
${term('finding', 'findings')} are shown.</p>
<p>On the Team plan you can browse all rules here, switch the experimental tier on, and switch individual rules on and off. The API
lists the rules on every plan: <a href="/docs/api">GET /platform/v1/atr/rules</a>.</p>
<p class="soft">The operator of this server changes the plan with <code>sluice workspace plan</code>.</p></section>
${thisWorkspace(data, viewer)}
${
  kept !== null &&
  html`<section class="panel"><h2>Settings of an earlier plan</h2>
<p>These settings still apply on the ${viewer.plan} plan. They cannot be changed here, only removed.</p>${kept}</section>`
}</div>`,
  });
}

function thisWorkspace(data: RuleFacts, viewer: Viewer): Html {
  return html`<section class="panel"><h2>In this workspace</h2>
<p class="figure">${runningText(data)}</p><p class="soft">${term('effective-rule-set', 'Rules running here')}, and why others aren’t.</p>${stateTable(data, viewer)}
<p class="soft">Corpus ${corpusName(data.snapshot.version, data.snapshot.identity)}</p></section>`;
}

const OFF: Readonly<Record<RuleState, string>> = {
  as_written: '',
  degraded: '',
  off_by_tier: 'the experimental tier is off',
  off_by_override: 'set manually',
  unsupported: 'not supported',
  draft_or_deprecated: 'draft or deprecated',
  fails_own_examples: 'fails its own tests',
};

export function state({ enabled, decidedBy, state: of }: DecidedRule): Html {
  if (!enabled)
    return html`<span class="soft">Off</span> <span class="soft below">${OFF[of]}</span>`;
  return html`<strong class="low">${decidedBy === 'override' ? 'On (set manually)' : 'On (default)'}</strong>`;
}

const CHOICES = [
  { value: 'null', label: 'Default', override: null },
  { value: 'true', label: 'On', override: true },
  { value: 'false', label: 'Off', override: false },
] as const;

function removeOverride(id: string, viewer: Viewer): Html {
  return writeForm(
    writeTo(`${PATH}/${id}`, viewer),
    html`<button class="quiet" name="enabled" value="null">Remove<span class="hidden"> the setting of ${id}</span></button>`,
  );
}

/** The switch of a rule: three buttons, the current choice pressed. None for a rule that cannot run. */
export function overrideSwitch(one: DecidedRule, viewer: Viewer): HtmlValue {
  const { id } = one.rule;
  if (!canRun(one.state)) {
    return html`<span class="soft">Cannot be switched on</span>${
      one.override !== null && viewer.isAdmin && removeOverride(id, viewer)
    }`;
  }
  if (!viewer.isAdmin) {
    return html`<span class="soft">${CHOICES.find(({ override }) => override === one.override)?.label}</span>`;
  }
  const buttons = html`<div role="group" aria-label="Switch ${id}">${CHOICES.map(
    ({ value, label, override }) =>
      html`<button name="enabled" value="${value}" aria-pressed="${String(override === one.override)}">${label}</button>`,
  )}</div>`;
  return writeForm(writeTo(`${PATH}/${id}`, viewer), buttons, 'switch');
}

function tierSwitch(data: RulesPage, viewer: Viewer): Html {
  const { experimental } = data;
  const text = experimental
    ? 'On: stable and experimental rules run.'
    : 'Off: only stable rules run, and rules that were switched on manually.';
  const off = html`<input type="hidden" name="experimental" value="false">
<button>Switch the experimental tier off</button>`;
  return html`<section class="panel"><h2>Experimental tier</h2><p>${text}
<span class="soft">Changes apply to ${term('run', 'runs')} ${term('evaluation', 'evaluated')} from now on. Runs that were already evaluated are not evaluated again.</span></p>
${
  viewer.isAdmin &&
  html`${experimental && writeForm(writeTo(PATH, viewer), off)}${tierPreview(data.tier, viewer, experimental)}`
}
${reset(data, viewer)}</section>`;
}

function orphanTable({ orphans }: RuleFacts, viewer: Viewer): HtmlValue {
  if (orphans.length === 0) return null;
  return html`<section class="notice"><h2>Settings without effect</h2>
<p>These rules were set manually, but they cannot run or are no longer in the corpus.</p>
${listTable('Settings without effect', orphans, [
  ['Rule', ({ ruleId }) => html`<code>${ruleId}</code>`],
  ['Set to', ({ enabled }) => (enabled ? 'On' : 'Off')],
  ['Why it has no effect', ({ detail }) => detail],
  ['Remove', ({ ruleId }) => viewer.isAdmin && removeOverride(ruleId, viewer)],
])}</section>`;
}

function pages({ query, page, pages: last }: RulesPage): Html {
  const link = (to: number, label: string) => {
    const own = new URLSearchParams(query);
    own.set('page', String(to));
    return html`<a class="button quiet" href="${PATH}?${own.toString()}">${label}</a>`;
  };
  return html`<nav class="pager" aria-label="Pages">${page > 1 && link(page - 1, 'Previous')}
<span class="soft">Page ${page} of ${Math.max(1, last)}</span>${page < last && link(page + 1, 'Next')}</nav>`;
}

/** Findings of thirty days, and when there was one. */
function findingsCell({ rule }: DecidedRule, { records, nowMs }: RulesPage): HtmlValue {
  const { findings, falsePositives, lastSeenAt } = records.get(rule.id) ?? NO_RECORD;
  if (lastSeenAt === null) return html`<span class="soft">none</span>`;
  return html`<a href="/app/findings?rule_id=${rule.id}&amp;state=all">${count(findings)}</a>${
    falsePositives > 0 && html` <span class="below">${count(falsePositives)} false</span>`
  } <span class="soft below">${time(lastSeenAt, nowMs)}</span>`;
}

function matcherTime({ matcherShare, matcherUs }: RuleRecord): HtmlValue {
  if (matcherShare === null || matcherUs === null) return html`<span class="soft">–</span>`;
  return html`${percentText(100 * matcherShare)} <span class="soft below">${count(Math.round(matcherUs))} µs</span>`;
}

function ruleRow(one: DecidedRule, data: RulesPage, viewer: Viewer): Html {
  const { rule } = one;
  return html`<tr><td data-label="Severity">${severityBadge(rule.severity)}</td>
<td data-label="Rule"><a href="${PATH}/${rule.id}">${rule.title}</a> <span class="soft below">${rule.id} · ${words(rule.category)}</span></td>
<td data-label="Status">${rule.status} <span class="soft below">${SUPPORT_LABELS[rule.support]}</span></td>
<td data-label="Quality">${qualityCell(rule)}</td><td data-label="Findings" class="number">${findingsCell(one, data)}</td>
<td data-label="Matcher time" class="number">${matcherTime(data.records.get(rule.id) ?? NO_RECORD)}</td>
<td data-label="State">${state(one)}</td><td data-label="Switch">${overrideSwitch(one, viewer)}</td></tr>
`;
}

function table(data: RulesPage, viewer: Viewer): Html {
  const { rules, query } = data;
  return scrolling(
    'Rules',
    html`<table class="stack rules" aria-label="Rules"><thead><tr><th scope="col">Severity</th><th scope="col">Rule</th>
<th scope="col">Status</th>${sortable('Quality', 'noise', query)}${sortable('Findings, 30 days', 'findings', query, 'number')}${sortable('Matcher time', 'matcher_time', query, 'number')}<th scope="col">State</th>
<th scope="col">Switch</th></tr></thead><tbody>${rules.map((one) => ruleRow(one, data, viewer))}</tbody></table>`,
  );
}

export function rulesPage(look: Look, viewer: Viewer, data: RulesPage): Html {
  const { snapshot, rules, total } = data;
  return appPage(look, viewer, {
    title: 'Rules',
    current: PATH,
    isWide: true,
    main: html`<div class="head"><div class="title-line"><h1>Rules</h1></div>
<p class="soft exports"><a href="${PATH}/coverage">Coverage</a> · <a href="${PREVIEWS}">Previews</a> · <a href="/app/exceptions">Exceptions</a> · <a href="/docs/rules-coverage">Which rules can run</a></p></div>
<details class="page-fold"><summary><strong>${runningText(data)}</strong> <span class="soft">· experimental tier ${data.experimental ? 'on' : 'off'} · rules by state, experimental tier</span></summary>
<p class="soft">The ${term('rule-and-corpus', 'rules')} of agent-threat-rules ${corpusName(snapshot.version, snapshot.identity)}, snapshot of ${snapshot.date}: ${count(snapshot.files)} files, each verified
against a checksum.</p>
<div class="grid wide">${thisWorkspace(data, viewer)}
<section class="panel"><h2>In the corpus</h2><p class="soft">What Sluice can run, the same for every workspace.</p>
${supportTable(data)}</section>
${tierSwitch(data, viewer)}</div></details>
${orphanTable(data, viewer)}
${ruleFilters(data.query)}
<p class="soft">${count(total)} ${total === 1 ? 'rule' : 'rules'}</p>
${
  rules.length === 0
    ? empty('No rule matches this filter', html`<p><a href="${PATH}">Show all rules</a></p>`)
    : html`${table(data, viewer)}${pages(data)}`
}`,
  });
}

export function ruleFilters(query: string): Html {
  const given = new URLSearchParams(query);
  return html`<form class="filters" method="get" action="${PATH}" role="search" aria-label="Rules">
${field('q', 'Search', given.get('q'), { type: 'search', hint: 'title, id, description' })}
${folded(
  given,
  ['q'],
  html`${choice('status', 'Status', RULE_STATUSES, given.get('status'))}
${choice(
  'support',
  'Support',
  SUPPORTS.map((support) => [support, SUPPORT_LABELS[support]] as const),
  given.get('support'),
)}
${choice('category', 'Category', CATEGORIES, given.get('category'))}
${choice(
  'enabled',
  'Enabled',
  [
    ['true', 'On'],
    ['false', 'Off'],
  ],
  given.get('enabled'),
)}
${choice(
  'state',
  'State',
  RULE_STATES.map((one) => [one, STATE_LABELS[one]] as const),
  given.get('state'),
)}
${field('reference', 'Reference', given.get('reference'), { hint: 'AML.T0051 or LLM01' })}
${choice('maturity', 'Maturity', MATURITIES, given.get('maturity'))}
<label>Order<select name="sort">${RULE_ORDERS.map(
    (order) =>
      html`<option value="${order}"${order === given.get('sort') && html` selected`}>${ORDER_LABELS[order]}</option>`,
  )}</select></label>`,
)}
<div class="buttons"><button>Filter</button> <a class="button quiet" href="${PATH}">Clear</a></div></form>`;
}

/** A column that the list can be sorted by. */
function sortable(label: string, order: RuleOrder, query: string, className = ''): Html {
  const own = new URLSearchParams(query);
  const isSorted = own.get('sort') === order;
  own.set('sort', order);
  own.delete('page');
  return html`<th scope="col"${className !== '' && html` class="${className}"`}${isSorted && html` aria-sort="descending"`}><a href="${PATH}?${own.toString()}" title="${ORDER_LABELS[order]}">${label}${isSorted && ' ↓'}</a></th>`;
}
