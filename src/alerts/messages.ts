/**
 * The texts of alerts: bodies of webhooks and e-mails. Pure. They hold what is known of a finding without
 * its run's text: rule, severity, times, ids and links; never an excerpt or the names of step and tool.
 * Agent, service, user, session and model, which senders choose, are in OCSF events only: a program reads
 * these, and people read the others.
 */
import type { FindingFacts } from '../db/findings/findings.ts';
import type { Destination } from '../model/alerts.ts';
import { escapeInvisible, showInvisible } from '../model/invisible.ts';
import { SEVERITIES, type Severity } from '../model/rules.ts';

/** Rules that a digest counts one by one. */
export const DIGEST_RULES_MAX = 20;
/** Characters of a text block of Slack, below its limit of 3,000. */
export const SLACK_TEXT_CHARS = 2900;
/** Of the title of a message: a header block of Slack takes 150, and a subject is to be read in a list. */
export const TITLE_CHARS = 140;

/** A finding as alerts show it. */
export type AlertedFinding = FindingFacts;

export interface MessageSource {
  readonly brand: string;
  /** of the dashboard */
  readonly baseUrl: string;
  /** the title of a rule; undefined when the loaded corpus does not have it */
  readonly ruleTitle: (ruleId: string) => string | undefined;
  /** a finding as the export sends it */
  readonly toOcsf: (finding: FindingFacts) => object;
}

/** An event, before it has the form of its destination. */
export type Alert =
  | { readonly kind: 'finding'; readonly finding: AlertedFinding }
  | { readonly kind: 'digest'; readonly findings: readonly AlertedFinding[]; readonly at: Date }
  | { readonly kind: 'test'; readonly at: Date };

interface RuleCount {
  readonly rule_id: string;
  readonly title: string | null;
  readonly severity: Severity;
  readonly count: number;
}

export const capital = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;

function countBySeverity(findings: readonly AlertedFinding[]): Partial<Record<Severity, number>> {
  const counts: Partial<Record<Severity, number>> = {};
  for (const severity of SEVERITIES) {
    const count = findings.filter((finding) => finding.severity === severity).length;
    if (count > 0) counts[severity] = count;
  }
  return counts;
}

/** The most frequent rules of a digest, the severest first among equals. */
function countByRule(findings: readonly AlertedFinding[], source: MessageSource): RuleCount[] {
  const counts = new Map<string, RuleCount>();
  for (const { ruleId, severity } of findings) {
    const count = (counts.get(ruleId)?.count ?? 0) + 1;
    counts.set(ruleId, {
      rule_id: ruleId,
      title: source.ruleTitle(ruleId) ?? null,
      severity,
      count,
    });
  }
  const rank = ({ severity }: RuleCount): number => SEVERITIES.indexOf(severity);
  const sorted = [...counts.values()].sort(
    (one, other) => other.count - one.count || rank(one) - rank(other),
  );
  return sorted.slice(0, DIGEST_RULES_MAX);
}

export const findingUrl = ({ baseUrl }: Pick<MessageSource, 'baseUrl'>, id: string): string =>
  `${baseUrl}/app/findings/${id}`;
export const listUrl = ({ baseUrl }: Pick<MessageSource, 'baseUrl'>): string =>
  `${baseUrl}/app/findings`;

function plainFinding(finding: AlertedFinding, source: MessageSource): object {
  return {
    id: finding.id,
    created_at: finding.createdAt.toISOString(),
    severity: finding.severity,
    category: finding.category,
    rule_id: finding.ruleId,
    rule_title: source.ruleTitle(finding.ruleId) ?? null,
    rule_version: finding.ruleVersion,
    description: finding.description,
    surface: finding.surface,
    run_id: finding.runId,
    recommended_actions: finding.recommendedActions,
    url: findingUrl(source, finding.id),
  };
}

function plainBody(alert: Alert, { workspace }: Destination, source: MessageSource): object {
  if (alert.kind === 'finding') {
    const { finding } = alert;
    return {
      type: 'finding.created',
      timestamp: finding.createdAt.toISOString(),
      data: { workspace, finding: plainFinding(finding, source) },
    };
  }
  if (alert.kind === 'test') {
    const timestamp = alert.at.toISOString();
    return { type: 'alert.test', timestamp, data: { workspace, url: listUrl(source) } };
  }
  const { findings, at } = alert;
  return {
    type: 'findings.digest',
    timestamp: at.toISOString(),
    data: {
      workspace,
      count: findings.length,
      by_severity: countBySeverity(findings),
      by_rule: countByRule(findings, source),
      finding_ids: findings.map(({ id }) => id),
      url: listUrl(source),
    },
  };
}

/** A message for people: a title, lines and a link. */
interface Notice {
  readonly title: string;
  readonly lines: readonly string[];
  readonly url: string;
  readonly link: string;
}

export const plural = (count: number, word: string): string =>
  `${count} ${word}${count === 1 ? '' : 's'}`;

function digestLines(findings: readonly AlertedFinding[], source: MessageSource): string[] {
  const rules = countByRule(findings, source);
  const lines = rules.map(
    ({ rule_id, title, severity, count }) =>
      `${count} × ${title ?? rule_id} (${rule_id}, ${severity})`,
  );
  const others = new Set(findings.map(({ ruleId }) => ruleId)).size - rules.length;
  return others > 0 ? [...lines, `and ${plural(others, 'more rule')}`] : lines;
}

/** As much as fits, never half a character. */
export function cut(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  return `${text.slice(0, charsMax - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

/** A message without invisible characters in its title and lines, the title cut. */
function noticeOf(alert: Alert, destination: Destination, source: MessageSource): Notice {
  const { title, lines, ...rest } = noticeAsGiven(alert, destination, source);
  return {
    ...rest,
    title: cut(showInvisible(title), TITLE_CHARS),
    lines: lines.map(showInvisible),
  };
}

function noticeAsGiven(alert: Alert, { workspace }: Destination, source: MessageSource): Notice {
  const list = { url: listUrl(source), link: 'Open findings' };
  if (alert.kind === 'test') {
    const lines = ['This destination works. Findings are sent here as they appear.'];
    return { title: `Test message of ${workspace}`, lines, ...list };
  }
  if (alert.kind === 'digest') {
    const { findings } = alert;
    const severities = Object.entries(countBySeverity(findings));
    const counts = severities.map(([severity, count]) => `${count} ${severity}`).join(', ');
    const lines = [`Workspace: ${workspace}`, ...digestLines(findings, source)];
    return { title: `${plural(findings.length, 'new finding')}: ${counts}`, lines, ...list };
  }
  const { finding } = alert;
  const title = source.ruleTitle(finding.ruleId) ?? finding.ruleId;
  return {
    title: `${capital(finding.severity)}: ${title}`,
    lines: [
      finding.description,
      `Category: ${finding.category.replaceAll('-', ' ')}`,
      `Workspace: ${workspace}`,
      `Time: ${finding.createdAt.toISOString()}`,
    ],
    url: findingUrl(source, finding.id),
    link: 'Open finding',
  };
}

/** `&`, `<` and `>` begin Slack's own markup: mentions, links, channels. */
const slackText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

function slackBody(alert: Alert, destination: Destination, source: MessageSource): object {
  const { title, lines, url, link } = noticeOf(alert, destination, source);
  const text = cut(lines.map(slackText).join('\n'), SLACK_TEXT_CHARS);
  return {
    text: slackText(title),
    blocks: [
      {
        type: 'header',
        text: { type: 'plain_text', text: title, emoji: false },
      },
      // Names in it are text, and no mentions.
      { type: 'section', text: { type: 'mrkdwn', text, verbatim: true } },
      { type: 'section', text: { type: 'mrkdwn', text: `<${url}|${link}>` } },
    ],
  };
}

/** The event of the export, which a SIEM joins with others by agent, service, user, session and model. */
const ocsfEvent = (finding: AlertedFinding, { toOcsf }: MessageSource): object =>
  toOcsf({ ...finding, stepName: null, toolName: null });

function bodyOf(alert: Alert, destination: Destination, source: MessageSource): object {
  const { format } = destination.target;
  if (format === 'slack') return slackBody(alert, destination, source);
  if (format === 'ocsf' && alert.kind === 'finding') return ocsfEvent(alert.finding, source);
  if (format === 'ocsf' && alert.kind === 'digest') {
    return alert.findings.map((finding) => ocsfEvent(finding, source));
  }
  return plainBody(alert, destination, source);
}

/** The JSON body of a webhook; invisible characters in it are escaped, so that a log shows them. */
export function webhookBody(alert: Alert, destination: Destination, source: MessageSource): string {
  return escapeInvisible(JSON.stringify(bodyOf(alert, destination, source)));
}

/** An e-mail's subject and text. */
export function emailOf(
  alert: Alert,
  destination: Destination,
  source: MessageSource,
): { readonly subject: string; readonly text: string } {
  const { title, lines, url, link } = noticeOf(alert, destination, source);
  const settings = `${source.baseUrl}/app/alerts`;
  const text = `${lines.join('\n')}\n\n${link}: ${url}\n\n-- \nSettings of this alert: ${settings}\n`;
  return { subject: `[${capital(source.brand)}] ${title}`, text };
}
