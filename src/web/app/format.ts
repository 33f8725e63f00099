/** How times, counts and sizes are written for people. */
import { type Html, html } from '../html.ts';

const MS_PER_SECOND = 1000;
const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const;

/** A moment as it is told in data (RFC 3339). */
export interface Moment {
  readonly getTime: () => number;
  readonly toISOString: () => string;
}

/** `5 minutes ago`; `just now` below a minute, and for clocks that differ. */
export function ago(atMs: number, nowMs: number): string {
  const seconds = Math.floor((nowMs - atMs) / MS_PER_SECOND);
  for (const [unit, size] of UNITS) {
    const count = Math.floor(seconds / size);
    if (count >= 1) return `${count} ${unit}${count === 1 ? '' : 's'} ago`;
  }
  return 'just now';
}

/** A time element: how long ago, the exact time beside the pointer. */
export function time(at: Moment | null, nowMs: number): Html {
  if (at === null) return html`<span class="soft">–</span>`;
  const iso = at.toISOString();
  return html`<time datetime="${iso}" title="${iso}">${ago(at.getTime(), nowMs)}</time>`;
}

/** `1,234,567` */
export function count(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ',');
}

const SIZES = ['B', 'KB', 'MB', 'GB'] as const;

/** `1.5 KB`, in thousands. */
export function size(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < SIZES.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${SIZES[unit]}`;
}

/** Milliseconds as `850 ms`, `1.2 s`, `3 min 4 s`. */
export function duration(ms: number): string {
  if (ms < MS_PER_SECOND) return `${Math.max(0, Math.round(ms))} ms`;
  const seconds = ms / MS_PER_SECOND;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const whole = Math.floor(seconds);
  return `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

/** `prompt-injection` → `prompt injection` */
export function words(name: string): string {
  return name.replaceAll(/[-_]/g, ' ');
}
