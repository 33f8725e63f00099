/**
 * The report of a scan as SARIF 2.1.0 (OASIS), which code scanning of GitHub and GitLab, and editors, read. What
 * could not be checked is in the invocation: a run without results is no clean one then.
 */
import { createHash } from 'node:crypto';
import { isAbsolute } from 'node:path';
import { pathToFileURL } from 'node:url';

import type { Severity } from '../../model/rules.ts';
import type { ScanHit, ScanReport } from './report.ts';

const SCHEMA = 'https://json.schemastore.org/sarif-2.1.0.json';

const LEVELS: Readonly<Record<Severity, 'error' | 'warning' | 'note'>> = {
  critical: 'error',
  high: 'error',
  medium: 'warning',
  low: 'note',
  informational: 'note',
};
/** As GitHub reads `security-severity`: critical above 9, high above 7, medium above 4. */
const SCORES: Readonly<Record<Severity, string>> = {
  critical: '9.5',
  high: '8.0',
  medium: '5.5',
  low: '3.0',
  informational: '0.0',
};

export function toSarif(report: ScanReport, version: string): object {
  const rules = new Map(report.hits.map((hit) => [hit.rule, hit]));
  const ids = [...rules.keys()];
  const failed = report.failed.map(({ file, why }) => noteOf('error', file, `Not checked: ${why}`));
  const notes = report.incomplete.map(({ file, why }) => noteOf('warning', file, why));
  return {
    $schema: SCHEMA,
    version: '2.1.0',
    runs: [
      {
        tool: { driver: { name: 'Sluice', version, rules: [...rules.values()].map(ruleOf) } },
        invocations: [
          {
            executionSuccessful: failed.length === 0,
            toolExecutionNotifications: [...failed, ...notes],
          },
        ],
        results: report.hits.map((hit) => resultOf(hit, ids.indexOf(hit.rule))),
      },
    ],
  };
}

function noteOf(level: 'error' | 'warning', file: string, text: string): object {
  const artifactLocation = { uri: uriOf(file) };
  return { level, message: { text }, locations: [{ physicalLocation: { artifactLocation } }] };
}

function ruleOf({ rule, title, severity }: ScanHit): object {
  return {
    id: rule,
    shortDescription: { text: title },
    defaultConfiguration: { level: LEVELS[severity] },
    properties: { 'security-severity': SCORES[severity], tags: ['security'] },
  };
}

function resultOf(hit: ScanHit, ruleIndex: number): object {
  const { file, run, rule, severity, surface, title, excerpt, line } = hit;
  const match = createHash('sha256').update(JSON.stringify([rule, file, run, excerpt]));
  return {
    ruleId: rule,
    ruleIndex,
    level: LEVELS[severity],
    message: { text: `${title} (${surface}${run === null ? '' : ` of run ${run}`})` },
    locations: [
      {
        physicalLocation: {
          artifactLocation: { uri: uriOf(file) },
          region: { startLine: line ?? 1, snippet: { text: excerpt } },
        },
        ...(run === null ? {} : { logicalLocations: [{ name: run, kind: 'run' }] }),
      },
    ],
    partialFingerprints: { 'sluiceMatch/v1': match.digest('hex') },
  };
}

/** A relative path stays relative: code scanning looks for it in the repository. */
function uriOf(file: string): string {
  if (file === '-') return 'standard-input';
  if (isAbsolute(file)) return pathToFileURL(file).href;
  return file
    .replaceAll('\\', '/')
    .split('/')
    .map((part) => encodeURIComponent(part.toWellFormed()))
    .join('/');
}
