/** The search in the texts of a run, and what it found. */
import { type FoundText, PHRASE_CHARS_MAX, type RunSearch } from '../../model/run-page.ts';
import { surfaceLabel } from '../../model/steps.ts';
import { type Html, type HtmlValue, html } from '../html.ts';
import { count, many } from './format.ts';
import { unreadableText } from './run-check.ts';
import { AT_ID, markedText } from './text.ts';

function foundLink(runId: string, phrase: string, { step, text, at }: FoundText): string {
  const from = Math.max(0, at - 1000);
  const own = new URLSearchParams({ step: String(step), text: String(text) });
  for (const [name, value] of Object.entries({ from, at })) own.set(name, String(value));
  own.set('q', phrase);
  return `/app/runs/${runId}?${own}#${AT_ID}`;
}

function hit(runId: string, phrase: string, found: FoundText): Html {
  const { step, stepName, surface, before, match, after, repeatedIn } = found;
  const mark = { start: before.length, end: before.length + match.length, findingId: null };
  return html`<li><a href="${foundLink(runId, phrase, found)}">Step ${count(step)}</a>
<span class="soft">${surfaceLabel(surface)} of ${stepName || '(no name)'}${repeatedIn > 0 && `, sent again in ${many(repeatedIn, 'later step')}`}</span>
<pre class="excerpt">${markedText(`${before}${match}${after}`, [mark])}</pre></li>`;
}

/** `5 texts match, sent again in 16 later steps`. */
function foundText(hits: readonly FoundText[]): string {
  if (hits.length === 0) return 'No match';
  const texts = `${count(hits.length)} ${hits.length === 1 ? 'text matches' : 'texts match'}`;
  const again = Math.max(...hits.map(({ repeatedIn }) => repeatedIn));
  return again === 0 ? texts : `${texts}, sent again in up to ${many(again, 'later step')},`;
}

function results(runId: string, { phrase, hits, next, from, cut, unreadable }: RunSearch): Html {
  const further = new URLSearchParams({ q: phrase, after: String((next ?? 1) - 1) });
  return html`<section class="panel" id="search" aria-label="Search results">
<p role="status">${foundText(hits)}
in steps ${count(from)} to ${next === null ? 'the last' : count(next - 1)}.
${cut > 0 && html`Only the beginning of ${count(cut)} large ${cut === 1 ? 'step' : 'steps'} was searched.`}
${unreadableText({ unreadable }).map((text) => html`${text}.`)}</p>
${hits.length > 0 && html`<ol class="plain found-texts">${hits.map((one) => hit(runId, phrase, one))}</ol>`}
${next !== null && html`<p><a class="button quiet" href="/app/runs/${runId}?${further.toString()}#search">Search from step ${count(next)}</a></p>`}
</section>`;
}

/** @param search null when nothing was searched for @param phrase in the field */
export function searchView(
  runId: string,
  search: RunSearch | null,
  phrase: string | null,
): HtmlValue {
  return html`<details class="fold"${search !== null && html` open`}><summary>Search texts</summary><form class="find" method="get" action="/app/runs/${runId}#search" role="search" aria-label="Texts of this run">
<label>Search texts<input type="search" name="q" value="${search?.phrase ?? phrase}" maxlength="${PHRASE_CHARS_MAX}" required></label>
<div class="buttons"><button>Search</button>${search !== null && html` <a class="button quiet" href="/app/runs/${runId}">Clear</a>`}</div></form></details>
${search !== null && results(runId, search)}`;
}
