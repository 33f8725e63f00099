/** One rule: its conditions, whether it runs here and why, and the switch. */
import { NO_RECORD, type RuleRecord } from '../../model/findings.ts';
import { findingsPerDay, type Preview } from '../../model/previews.ts';
import { referenceLists } from '../../model/references/rule-references.ts';
import { canRun, hasNoExamples, type Rule, SUPPORT_LABELS } from '../../model/rules.ts';
import { surfaceLabel } from '../../model/steps.ts';
import { type Html, type HtmlValue, html } from '../html.ts';
import { count, percentText, term, time, words } from './format.ts';
import { PREVIEWS, perDayText, startForm } from './previews/previews.ts';
import { falsePositiveRate } from './rule-counts.ts';
import { type DecidedRule, overrideSwitch, state } from './rules.ts';
import {
  appPage,
  crumb,
  facts,
  type Look,
  listTable,
  severityBadge,
  type Viewer,
} from './shell.ts';

function recordText({ findings, falsePositives }: RuleRecord): string {
  if (findings === 0) return 'no findings';
  return `${count(findings)} ${findings === 1 ? 'finding' : 'findings'}, ${count(falsePositives)} false positives`;
}

function about(rule: Rule, { record, nowMs }: RuleHistory): Html {
  const { failed, truePositives, trueNegatives } = rule.ownExamples;
  const outcome =
    rule.support === 'unsupported'
      ? 'not run, because the rule is not supported'
      : hasNoExamples(rule.ownExamples)
        ? 'the rule ships none, so it never runs'
        : failed.length === 0
          ? 'all pass'
          : `${failed.length} fail`;
  return facts([
    ['Status', rule.status],
    ['Support', SUPPORT_LABELS[rule.support]],
    ['Version', rule.version],
    ['Author', rule.author],
    ['Date', rule.date],
    ['Subcategory', rule.subcategory === null ? null : words(rule.subcategory)],
    ['Own tests', `${truePositives} must match, ${trueNegatives} must not match: ${outcome}`],
    [
      'Findings',
      html`<a href="/app/findings?rule_id=${rule.id}">Findings of this rule</a> · <a href="/app/exceptions?rule_id=${rule.id}">Exceptions</a>`,
    ],
    ['In 30 days', recordText(record)],
    [
      term('rule-quality', 'Matcher time'),
      record.matcherShare === null
        ? null
        : html`${percentText(100 * record.matcherShare)} of all rules, ${count(Math.round(record.matcherUs ?? 0))} µs a search <span class="soft below">on this server, of a sample in 30 days</span>`,
    ],
    ['Last seen', record.lastSeenAt === null ? null : time(record.lastSeenAt, nowMs)],
  ]);
}

function quality({ quality: stated, measured: { falsePositives } }: Rule): Html {
  const { wildFpRate: rate, wildSamples: samples, wildValidated: day } = stated;
  const tried =
    samples !== null &&
    html`<span class="soft below">tried on ${count(samples)} documents${day !== null && `, ${day}`}${
      rate === null && '; no rate published'
    }</span>`;
  const matched = html`${count(falsePositives.found)} of ${count(falsePositives.texts)} match here`;
  return html`<section class="panel"><h2>${term('rule-quality', 'Quality')}</h2>
<p class="soft">As stated by the rule’s authors. It does not decide whether the rule runs.</p>
${facts([
  ['Confidence', stated.confidence === null ? null : `${stated.confidence} of 100`],
  ['Maturity', stated.maturity],
  [
    'Measured by the authors',
    samples === null && rate === null
      ? 'not published'
      : html`${rate !== null && falsePositiveRate(rate)} ${tried}`,
  ],
  ['Harmless examples', falsePositives.texts === 0 ? null : matched],
])}</section>`;
}

/** The authors' sentences about harmless texts that may match. */
function mayMatch({ quality: { falsePositives } }: Rule): HtmlValue {
  return (
    falsePositives.length > 0 &&
    html`<h2>Known false positives</h2>
<p class="soft">Harmless texts that may match, in the words of the rule’s authors.</p>
<ul>${falsePositives.map((one) => html`<li>${one}</li>`)}</ul>`
  );
}

const WHY: Readonly<Record<Rule['support'], string>> = {
  as_written: 'Conditions that cannot run',
  degraded: 'Why it is partly supported',
  unsupported: 'Why it is not supported',
  fails_own_examples: 'Conditions that cannot run',
};

function whyNot({ unsupportedReasons, support }: Rule): HtmlValue {
  if (unsupportedReasons.length === 0) return null;
  return html`<section class="notice"><h2>${WHY[support]}</h2><ul>${unsupportedReasons.map(
    ({ message }) => html`<li>${message}</li>`,
  )}</ul></section>`;
}

function conditions({ condition, conditions: all }: Rule): Html {
  return html`<h2>Conditions <span class="soft">(${condition === 'any' ? 'any one must match' : html`all must match in one ${term('step', 'step')}`})</span></h2>
${listTable('Conditions', all, [
  [
    'Field',
    ({ field, surfaces }) =>
      html`<code>${field}</code> <span class="soft below">${surfaces.map(surfaceLabel).join(', ')}</span>`,
    { head: html`Field and ${term('surface', 'surfaces')}` },
  ],
  ['Description', ({ description }) => description],
  ['Pattern', ({ pattern }) => html`<code class="pattern">${pattern}</code>`],
  [
    'Supported',
    ({ supported, reason }) =>
      supported ? 'yes' : html`<span class="medium">${reason?.message ?? 'no'}</span>`,
  ],
])}`;
}

function failures({ ownExamples: { failed } }: Rule): HtmlValue {
  return (
    failed.length > 0 &&
    html`<h2>Own tests that fail</h2><ul>${failed.map(
      ({ kind, index, why }) => html`<li>${words(kind)} ${index + 1}: ${why}</li>`,
    )}</ul>`
  );
}

/** The lists of OWASP and MITRE, vulnerabilities and reading that the rule's authors name. */
function references({ references: given }: Rule): HtmlValue {
  const lists = referenceLists(given);
  if (lists.length === 0) return null;
  return html`<h2>References</h2>
${facts(
  lists.map(({ label, references: all }) => [
    label,
    html`<ul class="plain">${all.map(
      ({ id, isKnown, name, url }) =>
        html`<li>${url === null ? id : html`<a href="${url}" rel="noreferrer">${id}</a>`}${name !== null && ` ${name}`}${isKnown && !id.startsWith('http') && html` <a class="soft" href="/app/rules?reference=${encodeURIComponent(id)}">Rules<span class="hidden"> that refer to ${id}</span></a>`}</li>`,
    )}</ul>`,
  ]),
)}`;
}

function previewed(
  { rule, state: of }: DecidedRule,
  last: Preview | null,
  viewer: Viewer,
): HtmlValue {
  if (!canRun(of)) return null;
  const tally = last?.tally.rules[rule.id];
  return html`<section class="panel"><h2>${term('preview', 'Preview')}</h2>${
    last === null
      ? html`<p>What this rule would have found in stored runs, before it is switched on.</p>`
      : html`<p>${perDayText(findingsPerDay(tally?.runs ?? 0, last))}: it matches ${count(tally?.runs ?? 0)} of ${count(last.tally.read)} runs of ${last.days} days.
<a href="${PREVIEWS}/${last.id}">Show the preview</a></p>`
  }${startForm(viewer, rule.id)}</section>`;
}

interface RuleHistory {
  readonly last: Preview | null;
  readonly record: RuleRecord;
  readonly nowMs: number;
}

const NO_HISTORY: RuleHistory = {
  last: null,
  record: NO_RECORD,
  nowMs: 0,
};

export function rulePage(
  look: Look,
  viewer: Viewer,
  one: DecidedRule,
  { last, record, nowMs }: RuleHistory = NO_HISTORY,
): Html {
  const { rule } = one;
  return appPage(look, viewer, {
    title: rule.title,
    current: '/app/rules',
    main: html`${crumb('/app/rules', 'Rules')}<h1>${rule.title}</h1>
<p class="lead">${severityBadge(rule.severity)} ${rule.id} · ${words(rule.category)}</p>
<div class="grid wide">
<section class="panel"><h2>${term('effective-rule-set', 'State')}</h2><p>${state(one)}</p>${overrideSwitch(one, viewer)}
<p class="soft">Changes apply to ${term('run', 'runs')} ${term('evaluation', 'evaluated')} from now on. Runs that were already evaluated are not evaluated again.</p></section>
<section class="panel"><h2>About this ${term('rule-and-corpus', 'rule')}</h2>${about(rule, { last, record, nowMs })}</section>
${quality(rule)}
${previewed(one, last, viewer)}</div>
<h2>What it detects</h2>
<p class="description">${rule.description}</p>
${mayMatch(rule)}
${whyNot(rule)}
${conditions(rule)}
${failures(rule)}
<h2>Recommended actions</h2>
${
  rule.recommendedActions.length === 0
    ? html`<p>None.</p>`
    : html`<ul>${rule.recommendedActions.map((action) => html`<li>${words(action)}</li>`)}</ul>`
}
<p class="soft">Recommended by the rule’s author. Sluice does not carry them out: nothing is blocked.</p>
${references(rule)}`,
  });
}
