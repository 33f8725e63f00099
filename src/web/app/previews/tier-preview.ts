/** Before the experimental tier is switched on: its last preview, and the noisiest rules to leave off. */
import type { NoisyRule, Preview } from '../../../model/previews.ts';
import { type Html, html } from '../../html.ts';
import { count, percentText } from '../format.ts';
import { confirmed, type Viewer, writeForm, writeTo } from '../shell.ts';
import { allPerDay, PREVIEWS, perDayText, startForm } from './previews.ts';

const PATH = '/app/rules';

export interface TierPreview {
  /** the latest one that is done */
  readonly last: Preview | null;
  /** rules that are suggested to be left off */
  readonly noisy: readonly (NoisyRule & { readonly title: string })[];
}

function summary({ last }: TierPreview): Html {
  if (last === null) {
    return html`<p>No preview yet: it would show how many findings to expect.</p>`;
  }
  const { read, found } = last.tally;
  return html`<p>By the <a href="${PREVIEWS}/${last.id}">last preview</a>, of ${count(read)} runs of ${last.days} days: <strong>${perDayText(allPerDay(last))}</strong> more findings,
in ${percentText(read === 0 ? 0 : (100 * found) / read)} of the runs.</p>`;
}

function noisyItem({ ruleId, title, percentOfRuns, wildFpRate }: TierPreview['noisy'][number]) {
  const why = [
    percentOfRuns !== null && percentOfRuns > 0 && `${percentText(percentOfRuns)} of your runs`,
    wildFpRate !== null && `${percentText(wildFpRate)} of its authors’ benign samples`,
  ].filter((one) => one !== false);
  return html`<li><a href="${PATH}/${ruleId}">${title}</a> <span class="soft">fired on ${why.join(', ')}</span></li>`;
}

function switchOn(viewer: Viewer, leaveOff: readonly string[], label: string, look = ''): Html {
  return writeForm(
    writeTo(PATH, viewer),
    html`<input type="hidden" name="experimental" value="true">
${leaveOff.length > 0 && html`<input type="hidden" name="leave_off" value="${leaveOff.join(',')}">`}
<button class="${look}">${label}</button>`,
  );
}

export function tierPreview(tier: TierPreview, viewer: Viewer): Html {
  const { noisy } = tier;
  const ids = noisy.map(({ ruleId }) => ruleId);
  const rules = ids.length === 1 ? 'the noisiest rule' : `the ${ids.length} noisiest rules`;
  const expected = html`${summary(tier)}${
    noisy.length > 0 &&
    html`<p>${noisy.length === 1 ? 'This rule often fires' : 'These rules often fire'} on ordinary text. Unless you need ${noisy.length === 1 ? 'it' : 'them'}, leave ${noisy.length === 1 ? 'it' : 'them'} off.</p>
<ul>${noisy.map(noisyItem)}</ul>`
  }`;
  const forms = html`${noisy.length > 0 && switchOn(viewer, ids, `Switch on, leave ${rules} off`)}
${switchOn(viewer, [], 'Switch on with all rules', noisy.length > 0 ? 'quiet' : '')}
${startForm(viewer, null)}`;
  return html`<div id="tier">${confirmed('Switch the experimental tier on', expected, forms)}</div>`;
}
