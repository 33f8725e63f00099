/** How times, counts and sizes are written for people. */
import { type Html, html } from '../html.ts';

const MS_PER_SECOND = 1000;
const UNITS = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
] as const;

/** A time as RFC 3339. */
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
const MS_PER_DAY = 86_400_000;

/** The Gregorian date of a day since 1970, counted in eras of 400 years that begin in March. */
function dateOf(day: number): string {
  const shifted = day + 719_468;
  const era = Math.floor(shifted / 146_097);
  const ofEra = shifted - era * 146_097;
  const leaps = Math.floor(ofEra / 1460) - Math.floor(ofEra / 36_524);
  const yearOfEra = Math.floor((ofEra - leaps - Math.floor(ofEra / 146_096)) / 365);
  const ofYear =
    ofEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const marched = Math.floor((5 * ofYear + 2) / 153);
  const date = ofYear - Math.floor((153 * marched + 2) / 5) + 1;
  const month = marched < 10 ? marched + 3 : marched - 9;
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);
  const two = (value: number): string => String(value).padStart(2, '0');
  return `${String(year).padStart(4, '0')}-${two(month)}-${two(date)}`;
}

/** A time in ns since 1970 as RFC 3339, to the millisecond: pages have no clock and no `Date`. */
export function isoOfNanos(unixNano: string): string {
  const ms = Number(BigInt(unixNano) / NANOS_PER_MS);
  const day = Math.floor(ms / MS_PER_DAY);
  const ofDay = ms - day * MS_PER_DAY;
  const part = (size: number, of: number, digits = 2): string =>
    String(Math.floor(ofDay / size) % of).padStart(digits, '0');
  return `${dateOf(day)}T${part(3_600_000, 24)}:${part(60_000, 60)}:${part(1000, 60)}.${part(1, 1000, 3)}Z`;
}

/** A time in ns since 1970. */
export function nanoMoment(unixNano: string): Html {
  return moment(isoOfNanos(unixNano));
}

/** `1,234,567` */
export function count(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ',');
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
