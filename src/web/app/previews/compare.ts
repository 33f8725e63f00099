/** Two previews side by side: the rules that matched different shares of the runs. */
import {
  comparePreviews,
  type Preview,
  type PreviewedRule,
  type RuleDifference,
} from '../../../model/previews.ts';
import { type Html, html } from '../../html.ts';
import { count, percentText, term, time } from '../format.ts';
import { corpusName } from '../rule-counts.ts';
import {
  appPage,
  crumb,
  empty,
  facts,
  type Look,
  listTable,
  NUMBER,
  option,
  type Viewer,
} from '../shell.ts';
import {
  allPerDay,
  PREVIEWS,
  perDayText,
  type RuleFinder,
  ruleColumns,
  titleOf,
} from './previews.ts';

export const COMPARE = `${PREVIEWS}/compare`;

interface ComparePage {
  /** those that can be chosen, the latest first */
  readonly previews: readonly Preview[];
  /** the chosen ones; null until two are */
  readonly chosen: { readonly a: Preview; readonly b: Preview } | null;
  readonly findRule: RuleFinder;
  readonly nowMs: number;
}

export function compareForm(
  previews: readonly Preview[],
  findRule: RuleFinder,
  chosen: readonly [string | undefined, string | undefined] = [previews[1]?.id, previews[0]?.id],
): Html | null {
  if (previews.length < 2) return null;
  const label = (one: Preview): string =>
    `${titleOf(one, findRule)}, ${one.days} ${one.days === 1 ? 'day' : 'days'}, ${one.requestedAt.toISOString().slice(0, 'YYYY-MM-DD HH:MM'.length).replace('T', ' ')} UTC`;
  const select = (name: string, title: string, id: string | undefined) =>
    html`<label>${title}<select name="${name}">${previews.map((one) => option(one.id, label(one), id ?? null))}</select></label>`;
  return html`<form class="filters compare" method="get" action="${COMPARE}" aria-label="Compare">
${select('a', 'Preview', chosen[0])}${select('b', 'Compared with', chosen[1])}
<div class="buttons"><button class="quiet">Compare</button></div></form>`;
}

function about(title: string, preview: Preview, { findRule, nowMs }: ComparePage): Html {
  const { read, found } = preview.tally;
  return html`<section class="panel"><h2>${title}: <a href="${PREVIEWS}/${preview.id}">${titleOf(preview, findRule)}</a></h2>
<p class="figure">${perDayText(allPerDay(preview))}</p>${facts([
    [
      'With a finding',
      `${percentText(read === 0 ? 0 : (100 * found) / read)} of ${count(read)} runs`,
    ],
    ['Runs', `of the last ${preview.days} ${preview.days === 1 ? 'day' : 'days'}`],
    ['Rules', count(preview.ruleIds.length)],
    ['Corpus', corpusName(preview.corpusVersion, preview.corpusIdentity)],
    ['Requested', time(preview.requestedAt, nowMs)],
  ])}</section>`;
}

function share(one: PreviewedRule | null): Html {
  if (one === null) return html`<span class="soft">not previewed</span>`;
  return html`${percentText(one.percent)} <span class="soft below">${count(one.runs)} runs</span>`;
}

function change({ a, b }: RuleDifference): Html {
  const difference = (b?.perDay ?? 0) - (a?.perDay ?? 0);
  const text = `${difference < 0 ? '−' : '+'}${perDayText(Math.abs(difference))}`;
  return difference > 0 ? html`<strong class="medium">${text}</strong>` : html`${text}`;
}

function differences({ a, b }: NonNullable<ComparePage['chosen']>, findRule: RuleFinder): Html {
  const { differing, equal } = comparePreviews(a, b);
  const same = html`<p class="soft">${count(equal)} ${equal === 1 ? 'rule' : 'rules'} with the same share of the runs in both.</p>`;
  if (differing.length === 0) {
    return html`${empty('No differences', html`<p>Both previews found the same share of the runs with every rule.</p>`)}${equal > 0 && same}`;
  }
  const table = listTable('Differences', differing, [
    ...ruleColumns(findRule),
    ['First', ({ a: one }) => share(one), NUMBER],
    ['Second', ({ b: one }) => share(one), NUMBER],
    ['Difference', change, { ...NUMBER, head: html`Difference, findings` }],
  ]);
  return html`${table}${same}`;
}

export function comparePage(look: Look, viewer: Viewer, data: ComparePage): Html {
  const { previews, chosen, findRule } = data;
  return appPage(look, viewer, {
    title: 'Compare previews',
    current: '/app/rules',
    main: html`${crumb(PREVIEWS, 'Previews')}<h1>Compare previews</h1>
<p class="lead">The ${term('rule-and-corpus', 'rules')} that match another share of the ${term('run', 'runs')} in one ${term('preview', 'preview')} than in the other.</p>
${previews.length < 2 ? empty('Nothing to compare yet', html`<p>Two previews that are done can be compared. <a href="${PREVIEWS}">Previews</a></p>`) : compareForm(previews, findRule, chosen === null ? undefined : [chosen.a.id, chosen.b.id])}
${
  chosen !== null &&
  html`<div class="grid wide">${about('First', chosen.a, data)}${about('Second', chosen.b, data)}</div>
<h2>Rules that differ</h2>
${differences(chosen, findRule)}`
}`,
  });
}
