/** The filters and orders of the rules list: all of it is in the address. */
import { ORDER_LABELS, RULE_ORDERS, type RuleOrder } from '../../../model/rule-order.ts';
import {
  CATEGORIES,
  MATURITIES,
  RULE_STATES,
  RULE_STATUSES,
  STATE_LABELS,
  SUPPORT_LABELS,
  SUPPORTS,
} from '../../../model/rules.ts';
import { type Html, html } from '../../html.ts';
import { folded } from '../filter-fields.ts';
import { choice, field } from '../shell.ts';

const PATH = '/app/rules';

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
export function sortable(label: string, order: RuleOrder, query: string, className = ''): Html {
  const own = new URLSearchParams(query);
  const isSorted = own.get('sort') === order;
  own.set('sort', order);
  own.delete('page');
  return html`<th scope="col"${className !== '' && html` class="${className}"`}${isSorted && html` aria-sort="descending"`}><a href="${PATH}?${own.toString()}" title="${ORDER_LABELS[order]}">${label}${isSorted && ' ↓'}</a></th>`;
}
