/** Coverage: the entries of the lists of OWASP and MITRE, with the rules that refer to each and their findings. */
import {
  type Coverage,
  type CoverageGroup,
  entriesOf,
  type FrameworkCoverage,
} from '../../../model/references/coverage.ts';
import { type Html, type HtmlValue, html } from '../../html.ts';
import { count, many, term } from '../format.ts';
import { appPage, crumb, type Look, type Viewer } from '../shell.ts';

const RULES = '/app/rules';
export const COVERAGE = `${RULES}/coverage`;

export interface CoveragePage {
  readonly frameworks: readonly FrameworkCoverage[];
  /** the first of the thirty days, YYYY-MM-DD */
  readonly since: string;
}

/** How an entry is shown: a rule is on, all are off, or no rule refers to it. */
function levelOf({ rules, on }: Coverage): 'on' | 'off' | 'none' {
  if (on > 0) return 'on';
  return rules > 0 ? 'off' : 'none';
}

function statuses({ stable, experimental, rules }: Coverage): string {
  const others = rules - stable - experimental;
  return [
    stable > 0 && `${count(stable)} stable`,
    experimental > 0 && `${count(experimental)} experimental`,
    others > 0 && `${count(others)} draft or deprecated`,
  ]
    .filter((one) => one !== false)
    .join(', ');
}

function bar({ on, rules }: Coverage): Html {
  const width = ((100 * on) / Math.max(1, rules)).toFixed(1);
  return html`<svg class="share" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true"><rect class="whole" width="100" height="4"/><rect class="share" width="${width}" height="4"/></svg>`;
}

/** @param isGrouped its heading is one level deeper */
function cell(entry: Coverage, since: string, isGrouped: boolean): Html {
  const { id, name, rules, on, findings } = entry;
  const reference = encodeURIComponent(id);
  const [short] = id.split(':');
  const title = html`<span class="soft">${short}</span> ${name}`;
  const covered = html`<p><a href="${RULES}?reference=${reference}">${count(on)} of ${many(rules, 'rule')} on</a>${
    findings > 0 &&
    html` · <a class="found" href="/app/findings?reference=${reference}&amp;state=all&amp;since=${since}">${many(findings, 'finding')}</a>`
  }</p><p class="soft">${statuses(entry)}</p>${bar(entry)}`;
  return html`<li class="cover ${levelOf(entry)}">${isGrouped ? html`<h4>${title}</h4>` : html`<h3>${title}</h3>`}
${rules > 0 ? covered : html`<p class="soft">No rules</p>`}</li>
`;
}

function group({ id, name, entries }: CoverageGroup, since: string): Html {
  const covered = entries.filter(({ on }) => on > 0).length;
  return html`${
    name !== '' &&
    html`<h3>${id === '' ? name : html`<a href="${RULES}?reference=${id}">${name}</a>`} <span class="soft">${count(covered)} of ${count(entries.length)}</span></h3>`
  }<ul class="matrix">${entries.map((entry) => cell(entry, since, name !== ''))}</ul>`;
}

function section({ kind, label, groups }: FrameworkCoverage, since: string): Html {
  return html`<section><h2 id="${kind}">${label}</h2>
${groups.map((one) => group(one, since))}</section>`;
}

function summary(framework: FrameworkCoverage): Html {
  const entries = entriesOf(framework);
  const covered = entries.filter(({ on }) => on > 0).length;
  const off = entries.filter((one) => levelOf(one) === 'off').length;
  const open = entries.length - covered - off;
  const rest: HtmlValue = [
    off > 0 && html`<li>${count(off)} with rules that are all off</li>`,
    open > 0 && html`<li>${count(open)} without a rule</li>`,
  ];
  return html`<section class="panel"><h2><a href="#${framework.kind}">${framework.label}</a></h2>
<p class="figure">${count(covered)} <span class="soft">of ${count(entries.length)}</span></p>
<p class="soft">${framework.kind === 'mitre_attack' ? 'techniques that rules refer to have' : 'entries have'} a rule that is on</p>
<ul class="plain soft">${rest}</ul></section>`;
}

export function coveragePage(
  look: Look,
  viewer: Viewer,
  { frameworks, since }: CoveragePage,
): Html {
  return appPage(look, viewer, {
    title: 'Coverage',
    current: RULES,
    isWide: true,
    main: html`${crumb(RULES, 'Rules')}<h1>Coverage</h1>
<p class="lead">Which entries of OWASP’s and MITRE’s lists the ${term('rule-and-corpus', 'rules')} refer to, which of these rules are on in this workspace, and their
${term('finding', 'findings')} of the last 30 days. A technique includes its sub-techniques; one rule can refer to several entries. A reference says what a rule is about, not that it finds every such attack.</p>
<div class="grid cards">${frameworks.map(summary)}</div>
<ul class="legend cover-legend"><li class="cover on">A rule is on</li><li class="cover off">All rules are off</li><li class="cover none">No rules</li></ul>
${frameworks.map((one) => section(one, since))}
<p class="soft">MITRE ATLAS 5.6, OWASP Top 10 for LLM Applications 2025 and for Agentic Applications 2026. MITRE ATT&amp;CK is shown where rules refer to it.</p>`,
  });
}
