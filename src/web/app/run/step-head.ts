/** The kind, name, time, tokens and cost of a step, wherever it is shown. */
import type { ShownSteps } from '../../../model/run-page.ts';
import type { StepKind, StepOutline } from '../../../model/steps.ts';
import type { Usage } from '../../../model/usage.ts';
import { type Html, type HtmlValue, html } from '../../html.ts';
import { count, duration } from '../format.ts';

const NANOS_PER_US = 1000n;
const US_PER_MS = 1000;
const STATUS_ERROR = 2;

/** Milliseconds between two times, to the microsecond. */
export function msBetween(from: string, to: string): number {
  return Number((BigInt(to) - BigInt(from)) / NANOS_PER_US) / US_PER_MS;
}

const KINDS: Readonly<Record<StepKind, string>> = {
  agent: 'agent',
  llm: 'LLM',
  tool: 'tool',
  chain: 'chain',
  retriever: 'retriever',
  embedding: 'embedding',
  duplicate: 'duplicate',
  other: 'span',
};

export const kindClass = ({ kind, source }: Pick<StepOutline, 'kind' | 'source'>): string =>
  kind === 'other' && source === 'log' ? 'k-log' : `k-${kind}`;

export function kindTag(outline: Pick<StepOutline, 'kind' | 'source'>): Html {
  const { kind, source } = outline;
  const label = kind === 'other' && source === 'log' ? 'log' : KINDS[kind];
  return html`<span class="tag ${kindClass(outline)}">${label}</span>`;
}

export function stepTitle({ name }: Pick<StepOutline, 'name'>): string {
  return name === null ? '(name redacted)' : name || '(no name)';
}

export function errorBadge({ statusCode }: Pick<StepOutline, 'statusCode'>): HtmlValue {
  return statusCode === STATUS_ERROR && html`<span class="badge critical">error</span>`;
}

/** When a step begins within its run, and how long it takes. */
export function when(outline: StepOutline, { startUnixNano }: ShownSteps): Html {
  const begins = msBetween(startUnixNano, outline.startUnixNano);
  if (outline.source === 'log')
    return html`<span class="soft">log record, at ${duration(begins)}</span>`;
  const took = msBetween(outline.startUnixNano, outline.endUnixNano);
  return html`<span class="soft">${begins >= 1 && `at ${duration(begins)}, `}${duration(took)}</span>`;
}

/** `1,204 → 87 tokens`; empty where none were sent. */
export function tokensText({
  inputTokens,
  outputTokens,
}: Pick<Usage, 'inputTokens' | 'outputTokens'>): string {
  if (inputTokens === null && outputTokens === null) return '';
  const [input, output] = [inputTokens, outputTokens].map((one) =>
    one === null ? '–' : count(one),
  );
  return `${input} → ${output} tokens`;
}

/** `1,024 read from cache · 87 reasoning`; empty where none were sent. */
export function cacheText({ cacheReadTokens, cacheWriteTokens, reasoningTokens }: Usage): string {
  const parts: readonly (readonly [number | null, string])[] = [
    [cacheReadTokens, 'read from cache'],
    [cacheWriteTokens, 'written to cache'],
    [reasoningTokens, 'reasoning'],
  ];
  return parts
    .flatMap(([amount, what]) => (amount ? [`${count(amount)} ${what}`] : []))
    .join(' · ');
}

/** `$0.0042`: two digits that count, at least cents. */
export function costText(costUsd: number | null): string {
  if (costUsd === null) return '';
  if (costUsd === 0 || costUsd >= 0.01) return `$${costUsd.toFixed(2)}`;
  return `$${Number(costUsd.toPrecision(2))}`;
}
