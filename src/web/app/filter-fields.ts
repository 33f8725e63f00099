/** Fields of filters that several lists have. */
import { RUN_NAME_ROWS, type RunNames } from '../../model/runs.ts';
import { type Html, html } from '../html.ts';

/** Of a page that suggests none. */
export const NO_RUN_NAMES = Object.fromEntries(
  RUN_NAME_ROWS.map(({ known }) => [known, []]),
) as unknown as RunNames;

/** A field with suggestions; any text that a name contains finds it. */
export function nameField(
  name: string,
  label: string,
  given: URLSearchParams,
  known: readonly string[],
): Html {
  return html`<label>${label}<input name="${name}" value="${given.get(name)}" placeholder="contains" list="known-${name}" autocomplete="off"></label><datalist id="known-${name}">${known.map((one) => html`<option value="${one}"></option>`)}</datalist>`;
}

export const nameFields = (given: URLSearchParams, names: RunNames): Html[] =>
  RUN_NAME_ROWS.map(({ name, label, known }) => nameField(name, label, given, names[known]));

/** Parameters of a list that are no filter. */
const NO_FILTERS = ['cursor', 'page', 'sort', 'group_by', 'done', 'list', 'limit'];

/** On a narrow screen they are folded, and the line that opens them says how many are in use. */
export function folded(given: URLSearchParams, outside: readonly string[], fields: Html): Html {
  const used = new Set(
    [...given].flatMap(([name, value]) =>
      value === '' || NO_FILTERS.includes(name) || outside.includes(name) ? [] : [name],
    ),
  ).size;
  return html`<details class="fold"><summary>Filters${used > 0 && ` (${used})`}</summary>${fields}</details>`;
}
