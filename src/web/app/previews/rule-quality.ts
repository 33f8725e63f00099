/** The quality of a rule as its authors state it, in lists and on pages. */
import type { Rule } from '../../../model/rules.ts';
import { type Html, type HtmlValue, html } from '../../html.ts';
import { percentText } from '../format.ts';

export function qualityCell({ quality: { confidence, maturity, wildFpRate } }: Rule): HtmlValue {
  const words = [
    confidence !== null && `confidence ${confidence}`,
    maturity !== null && `maturity ${maturity}`,
  ].filter((one) => one !== false);
  const rate = wildFpRate !== null && falsePositiveRate(wildFpRate);
  return html`${rate} <span class="soft below">${words.join(', ')}</span>`;
}

/** A false positive rate, in the colour of a warning from one in a hundred. */
export function falsePositiveRate(rate: number): Html {
  const text = `${percentText(rate)} false positives`;
  return rate >= NOISY_PERCENT ? html`<strong class="medium">${text}</strong>` : html`${text}`;
}
const NOISY_PERCENT = 1;
