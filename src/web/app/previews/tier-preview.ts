/** The expected effect of the experimental tier, by a preview of this workspace's runs, and the rules to leave off. */
import { type NoisyRule, PREVIEW_RUNS_ENOUGH, type Preview } from '../../../model/previews.ts';
import { type Html, type HtmlValue, html } from '../../html.ts';
import { count, many, percentText, term } from '../format.ts';
import { confirmed, type Viewer, writeForm, writeTo } from '../shell.ts';
import { allPerDay, PREVIEWS, perDayText, progress, startForm } from './previews.ts';

const PATH = '/app/rules';

export interface TierPreview {
  /** the latest one of the present corpus that is done */
  readonly last: Preview | null;
  /** the one that waits or runs, of whatever rules */
  readonly open: Preview | null;
  /** rules that are suggested to be left off */
  readonly noisy: readonly (NoisyRule & { readonly title: string })[];
}

function summary({ last, noisy }: TierPreview): Html {
  if (last === null) {
    return html`<p>Preview these rules on your own runs first: the ${term('preview', 'preview')} shows how many ${term('finding', 'findings')} to expect, and which rules fire so often that they are better left off.</p>`;
  }
  const { read, found } = last.tally;
  const by = html`<p>By the <a href="${PREVIEWS}/${last.id}">last preview</a>, of ${count(read)} runs of ${last.days} days: <strong>${perDayText(allPerDay(last))}</strong> findings,
in ${percentText(read === 0 ? 0 : (100 * found) / read)} of the runs.</p>`;
  if (read < PREVIEW_RUNS_ENOUGH) {
    return html`${by}<p>These are too few runs to say which rules are noisy: at least ${count(PREVIEW_RUNS_ENOUGH)} are needed.</p>`;
  }
  return noisy.length > 0 ? by : html`${by}<p>No rule fired on 1% of them or more.</p>`;
}

function noisyList({ noisy, last }: TierPreview): HtmlValue {
  if (noisy.length === 0 || last === null) return null;
  const [these, them] = noisy.length === 1 ? ['This rule', 'it'] : ['These rules', 'them'];
  return html`<p>${these} fired often on your runs. Unless you need ${them}, leave ${them} off.</p>
<ul>${noisy.map(
    ({ ruleId, title, runs, percentOfRuns }) =>
      html`<li><a href="${PATH}/${ruleId}">${title}</a> <span class="soft">fired in ${percentText(percentOfRuns)} of the runs: ${count(runs)} of ${count(last.tally.read)}</span></li>`,
  )}</ul>`;
}

function switchOn(viewer: Viewer, leaveOff: readonly string[], label: string, look = ''): Html {
  return writeForm(
    writeTo(PATH, viewer),
    html`<input type="hidden" name="experimental" value="true">
${leaveOff.length > 0 && html`<input type="hidden" name="leave_off" value="${leaveOff.join(',')}">`}
<button class="${look}">${label}</button>`,
  );
}

/** @param isOn whether the tier is on already: then rules can only be left off */
export function tierPreview(tier: TierPreview, viewer: Viewer, isOn = false): Html {
  const { noisy, open } = tier;
  const ids = noisy.map(({ ruleId }) => ruleId);
  const rules = ids.length === 1 ? 'the noisy rule' : `the ${many(ids.length, 'noisy rule')}`;
  const isFirst = noisy.length === 0;
  const content = html`<div data-fresh="tier"${open !== null && html` data-poll`}>${summary(tier)}${noisyList(tier)}
${!isFirst && switchOn(viewer, ids, isOn ? `Leave ${rules} off` : `Switch on, leave ${rules} off`)}
${open === null ? startForm(viewer, null) : html`<p><a href="${PREVIEWS}/${open.id}">A preview is under way</a></p>${progress(open)}`}
${!isOn && switchOn(viewer, [], 'Switch on with all rules', 'quiet')}</div>`;
  return html`<div id="tier">${isOn ? content : confirmed('Switch the experimental tier on', null, content)}</div>`;
}
