/** The result of `sluice scan` for all files, with the files that it could not check; also as text for people. */
import { UNREAD_KEYS_MAX } from '../../engine/evaluate.ts';
import { UNKNOWN_ROLES_MAX } from '../../engine/surfaces/reader/messages/words.ts';
import type { Severity } from '../../model/rules.ts';
import { SURFACES, type Surface } from '../../model/steps.ts';
import type { Rejection } from '../../model/telemetry.ts';
import { paint, plain } from '../../terminal/output.ts';

export interface ScanHit {
  /** the file as it was named; `-` is standard input */
  readonly file: string;
  /** trace id, or the id of a session's run; null in a text */
  readonly run: string | null;
  readonly rule: string;
  readonly severity: Severity;
  readonly surface: Surface;
  /** every surface on which the rule would hit this text */
  readonly surfaces: readonly Surface[];
  readonly title: string;
  readonly excerpt: string;
  /** of a text, where the match begins, from 1; null in a run */
  readonly line: number | null;
}

export interface ScanResult {
  readonly hits: readonly ScanHit[];
  /** rules that could be called neither hit nor clean */
  readonly undecided: readonly string[];
  /** texts longer than SURFACE_CAP_BYTES, checked in part */
  readonly truncated: number;
  /** values checked as written, because too large or too deep to parse */
  readonly unparsed: number;
  /** files with zero bytes or bytes that are not UTF-8 */
  readonly not_utf8: number;
  /** steps with JSON that their sender cut */
  readonly cut: number;
  /** attributes with text that no convention reads, and the first of their keys */
  readonly unread: number;
  readonly unread_keys: readonly string[];
  /** roles of messages that are not known, the first ones */
  readonly unknown_roles: readonly string[];
  readonly rejected: readonly Rejection[];
  readonly checked: readonly Surface[];
}

export interface ScanFailure {
  readonly file: string;
  readonly why: string;
}

export interface ScanReport extends ScanResult {
  readonly rules_tried: number;
  readonly files: number;
  /** files found in folders that are no text */
  readonly binary: number;
  readonly failed: readonly ScanFailure[];
  /** files that were checked, but not whole, with each reason */
  readonly incomplete: readonly ScanFailure[];
}

export function mergeResults(results: readonly ScanResult[]): ScanResult {
  const checked = new Set(results.flatMap((one) => one.checked));
  const rejected = new Map<string, Rejection>();
  for (const one of results.flatMap((result) => result.rejected)) {
    const first = rejected.get(one.reason) ?? { ...one, count: 0 };
    rejected.set(one.reason, { ...first, count: first.count + one.count });
  }
  return {
    hits: results.flatMap((one) => one.hits),
    undecided: [...new Set(results.flatMap((one) => one.undecided))].sort(),
    truncated: results.reduce((sum, one) => sum + one.truncated, 0),
    unparsed: results.reduce((sum, one) => sum + one.unparsed, 0),
    not_utf8: results.reduce((sum, one) => sum + one.not_utf8, 0),
    cut: results.reduce((sum, one) => sum + one.cut, 0),
    unread: results.reduce((sum, one) => sum + one.unread, 0),
    unread_keys: [...new Set(results.flatMap((one) => one.unread_keys))]
      .sort()
      .slice(0, UNREAD_KEYS_MAX),
    unknown_roles: [...new Set(results.flatMap((one) => one.unknown_roles))]
      .sort()
      .slice(0, UNKNOWN_ROLES_MAX),
    rejected: [...rejected.values()],
    checked: SURFACES.filter((surface) => checked.has(surface)),
  };
}

/** Why a result without hits does not mean that what was read is clean. */
export function reservations(report: ScanResult): string[] {
  const { undecided, truncated, unparsed, cut, unread, unread_keys: keys, rejected } = report;
  const { unknown_roles: roles } = report;
  const count = rejected.reduce((sum, one) => sum + one.count, 0);
  const reasons = rejected.filter((one) => one.count > 0).map(({ reason }) => reason);
  const unknown = rejected.flatMap(({ message }) => message ?? []);
  return [
    ...(undecided.length > 0 ? [`Rules undecided: ${undecided.join(', ')}`] : []),
    ...(truncated > 0
      ? [`Texts longer than SURFACE_CAP_BYTES, checked in part: ${truncated}`]
      : []),
    ...(unparsed > 0
      ? [`Values checked as written, because too large or too deep to parse: ${unparsed}`]
      : []),
    ...(report.not_utf8 > 0
      ? [`Files with zero bytes or bytes that are not UTF-8: ${report.not_utf8}`]
      : []),
    ...(cut > 0 ? [`Steps with JSON that their sender cut: ${cut}`] : []),
    ...(unread > 0
      ? [`Attributes with text under keys that are not known: ${unread} (${keys.join(', ')})`]
      : []),
    ...(roles.length > 0 ? [`Messages of roles that are not known: ${roles.join(', ')}`] : []),
    ...(count > 0 ? [`Records not read: ${count} (${reasons.join(', ')})`] : []),
    ...unknown.map((message) => `Not read: ${message}`),
  ];
}

export function renderReport(report: ScanReport): string {
  const { hits, files, binary } = report;
  const tried = paint.dim(
    `${report.rules_tried} rules tried` +
      (files === 1 ? '' : ` on ${files} files`) +
      (binary === 0 ? '' : `; left out, because they are no texts: ${binary}`),
  );
  const blocks = hits.flatMap((hit) => [...blockOf(hit, files > 1), '']);
  const rules = new Set(hits.map(({ rule }) => rule)).size;
  const verdict =
    hits.length === 0
      ? cleanVerdict(report)
      : paint.bold(rules === 1 ? '1 rule matches.' : `${rules} rules match.`);
  return [
    ...blocks,
    `${verdict} ${tried}`,
    ...reservations(report).map((note) => paint.yellow(plain(note))),
    ...(files > 1 ? incompleteFiles(report) : []),
  ].join('\n');
}

/** Most files that are named as not checked whole. */
const INCOMPLETE_SHOWN_MAX = 20;

function incompleteFiles({ incomplete }: ScanReport): string[] {
  const files = [...new Set(incomplete.map(({ file }) => file))];
  const left = files.length - INCOMPLETE_SHOWN_MAX;
  return [
    ...files
      .slice(0, INCOMPLETE_SHOWN_MAX)
      .map((file) => paint.yellow(`Not checked whole: ${plain(file)}`)),
    ...(left > 0 ? [paint.yellow(`Not checked whole: ${left} more files`)] : []),
  ];
}

function blockOf(hit: ScanHit, isOneOfSeveral: boolean): string[] {
  const { rule, severity, title, run, surfaces, excerpt } = hit;
  const on = surfaces.length === SURFACES.length ? 'every surface' : surfaces.join(', ');
  const place = [
    ...(isOneOfSeveral ? [hit.file] : []),
    ...(run === null ? [] : [`run ${run}`]),
    on,
  ];
  return [
    `${paint.bold(rule)}  ${severity}  ${title}`,
    `  ${paint.dim(plain(place.join(' · ')))}`,
    `  ${plain(excerpt.replaceAll(/\s+/g, ' ').trim())}`,
  ];
}

function cleanVerdict({ checked, failed, files }: ScanReport): string {
  if (failed.length === files) return paint.yellow('Nothing was checked.');
  if (checked.length === 0)
    return paint.yellow('Checked: nothing. There is no text for rules in it.');
  if (checked.every((surface) => surface === 'tool_name')) {
    return paint.yellow('Checked: only tool names. No rule matches them.');
  }
  return paint.green('No rule matches.');
}
