/** Comparisons of the overview: of two weeks, and of the agents, services and rules with most open findings. */
import type { NamedCount } from '../../../model/overview.ts';
import { type Html, type HtmlValue, html } from '../../html.ts';
import { count, term } from '../format.ts';

const DAYS_OF_WEEK = 7;

/** The findings of the last seven days beside those of the seven before; nothing without both. */
export function weekTrend(perDay: readonly (number | null)[]): HtmlValue {
  if (perDay.length < 2 * DAYS_OF_WEEK || perDay.includes(null)) return null;
  const sum = (days: readonly (number | null)[]): number =>
    days.reduce<number>((all, value) => all + (value ?? 0), 0);
  const last = sum(perDay.slice(-DAYS_OF_WEEK));
  const before = sum(perDay.slice(-2 * DAYS_OF_WEEK, -DAYS_OF_WEEK));
  if (last === before)
    return html`<p class="soft">${count(last)} this week, as the week before</p>`;
  return html`<p class="soft">${count(last)} this week, ${count(before)} the week before</p>`;
}

/** A filter finds every name that contains its text, but in quotes only the whole name. */
const LISTS = [
  { by: 'agent', title: 'Agents', filter: (name: string) => ({ agent: `"${name}"` }) },
  { by: 'service', title: 'Services', filter: (name: string) => ({ service: `"${name}"` }) },
  { by: 'rule', title: 'Rules', filter: (name: string) => ({ rule_id: name }) },
] as const;

/**
 * Lists the agents, services and rules with most open findings in two weeks, each with a link.
 *
 * @param listOf returns the address of the list of these findings with a filter
 */
export function topLists(
  top: readonly NamedCount[],
  titleOf: (ruleId: string) => string,
  listOf: (filter: Readonly<Record<string, string>>) => string,
): HtmlValue {
  if (top.length === 0) return null;
  return html`<div class="grid">${LISTS.map(({ by, title, filter }) => {
    const own = top.filter((one) => one.by === by);
    if (own.length === 0) return null;
    const most = Math.max(...own.map(({ findings }) => findings));
    return html`<section class="panel"><h2>${title} with most open ${term('finding', 'findings')}</h2><ol class="top">${own.map(
      (one) =>
        item(one, listOf(filter(one.name)), by === 'rule' ? titleOf(one.name) : one.name, most),
    )}</ol></section>`;
  })}</div>`;
}

function item({ findings }: NamedCount, href: string, label: string, most: number): Html {
  const width = Math.max(1, Math.round((findings / most) * 100));
  return html`<li><a href="${href}">${label}</a> <span class="number">${count(findings)}</span>
<svg class="share" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true"><rect class="whole" width="100" height="6"/><rect class="share" width="${width}" height="6"/></svg></li>`;
}
