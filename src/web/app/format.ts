/** How times, counts and sizes are written for people. */
import { type Html, html } from '../html.ts';

const MS_PER_SECOND = 1000;
const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const;

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

/** A time element: how long ago, kept up to date; the exact time beside the pointer. */
export function time(at: Moment | null, nowMs: number): Html {
  if (at === null) return html`<span class="soft">–</span>`;
  const iso = at.toISOString();
  const seconds = Math.max(0, Math.floor((nowMs - at.getTime()) / MS_PER_SECOND));
  return html`<time datetime="${iso}" title="${iso}" data-ago="${seconds}">${ago(at.getTime(), nowMs)}</time>`;
}

/** `2026-11-22 20:14:05.123 UTC`; the script shows the viewer's own time zone. */
export function moment(iso: string): Html {
  const utc = `${iso.slice(0, 10)} ${iso.slice(11, 23)} UTC`;
  return html`<time datetime="${iso}" title="${utc}" data-local>${utc}</time>`;
}

const NANOS_PER_MS = 1_000_000n;

/** A time in ns since 1970 as RFC 3339, to the millisecond. */
const isoOfNanos = (unixNano: string): string =>
  new Date(Number(BigInt(unixNano) / NANOS_PER_MS)).toISOString();

export function nanoMoment(unixNano: string): Html {
  return moment(isoOfNanos(unixNano));
}

/** `1,234,567` */
export function count(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ',');
}

/** `1 text`, `2 texts` */
export function many(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? '' : 's'}`;
}

/** `52.6%`, `0.15%`, `<0.01%`: two digits that say something. */
export function percentText(percent: number): string {
  if (percent > 0 && percent < 0.01) return '<0.01%';
  return `${Number(percent.toFixed(percent < 1 ? 2 : 1))}%`;
}

type Term =
  | 'audit-log'
  | 'checked'
  | 'effective-rule-set'
  | 'evaluation'
  | 'exception'
  | 'finding'
  | 'key'
  | 'preview'
  | 'rule-and-corpus'
  | 'rule-quality'
  | 'run'
  | 'step'
  | 'surface'
  | 'triage';

/** A word of the product's own at its first use on a page, linked to the glossary. */
export function term(name: Term, text: string): Html {
  return html`<a class="term" href="/docs/glossary#${name}">${text}</a>`;
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

/** Milliseconds as `850 ms`, `1.2 s`, `3 min 4 s`, `2 h 5 min`, `3 days 4 h`. */
export function duration(ms: number): string {
  if (ms > 0 && ms < 0.5) return '< 1 ms';
  if (ms < MS_PER_SECOND) return `${Math.max(0, Math.round(ms))} ms`;
  const seconds = ms / MS_PER_SECOND;
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes} min ${whole % 60} s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours} h ${minutes % 60} min`;
  const days = Math.floor(hours / 24);
  return `${days} ${days === 1 ? 'day' : 'days'} ${hours % 24} h`;
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** `2026-11-08T…` → `8 Nov` */
export function dayLabel(iso: string): string {
  return `${Number(iso.slice(8, 10))} ${MONTHS[Number(iso.slice(5, 7)) - 1] ?? ''}`;
}

/** `2026-11-08T14:05:…` → `14:05` */
export function hourLabel(iso: string): string {
  return iso.slice(11, 16);
}

/** `prompt-injection` → `prompt injection` */
export function words(name: string): string {
  return name.replaceAll(/[-_]/g, ' ');
}
