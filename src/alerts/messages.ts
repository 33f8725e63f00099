/**
 * The texts of alerts: bodies of webhooks and e-mails. Pure. A message is about a run with new findings, or about many
 * runs. It holds rules, severities, the chain of matches, times, ids and links, with the names of agent and service, and
 * the user's name if the destination wants it; never an excerpt or the names of step and tool. A message about a changed
 * tool names the tool, and has no text of its definition.
 */
import type { FindingFacts } from '../db/findings/findings.ts';
import type { Destination } from '../model/alerts.ts';
import { groupBy } from '../model/groups.ts';
import type { Incident } from '../model/incidents/incidents.ts';
import { escapeInvisible, showInvisible } from '../model/invisible.ts';
import { SEVERITIES, type Severity } from '../model/rules.ts';
import { type ToolChange, toolLabel, toolPath } from '../model/shown/tools.ts';
import { surfaceLabel } from '../model/steps.ts';

/** Version of the bodies in JSON. It rises when a member goes or changes its meaning. */
const BODY_VERSION = 2;
export const DIGEST_RUNS_MAX = 20;
/** Findings that a message about a run describes one by one, in JSON. */
export const FINDINGS_DESCRIBED_MAX = 20;
/** Characters of a text block of Slack, below its limit of 3,000. */
export const SLACK_TEXT_CHARS = 2900;
/** Of the title of a message: a header block of Slack takes 150, and a subject is to be read in a list. */
export const TITLE_CHARS = 140;
export const SENT_NAME_CHARS = 80;

export type AlertedFinding = FindingFacts;
type AlertedFindings = readonly [AlertedFinding, ...AlertedFinding[]];

export interface MessageSource {
  readonly brand: string;
  readonly baseUrl: string;
  /** the title of a rule; undefined when the loaded corpus does not have it */
  readonly ruleTitle: (ruleId: string) => string | undefined;
  readonly toOcsf: (finding: FindingFacts) => object;
}

export type Alert =
  | {
      readonly kind: 'incident';
      /** of the run, with its other findings */
      readonly incident: Incident;
      /** the new ones */
      readonly findings: AlertedFindings;
      readonly at: Date;
    }
  | { readonly kind: 'digest'; readonly findings: AlertedFindings; readonly at: Date }
  | { readonly kind: 'tool_change'; readonly tool: ToolChange; readonly at: Date }
  | { readonly kind: 'test'; readonly at: Date };

export const capital = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;

export const plural = (count: number, word: string): string =>
  `${count} ${word}${count === 1 ? '' : 's'}`;

function countBySeverity(findings: AlertedFindings): Partial<Record<Severity, number>> {
  const counts: Partial<Record<Severity, number>> = {};
  for (const severity of SEVERITIES) {
    const count = findings.filter((finding) => finding.severity === severity).length;
    if (count > 0) counts[severity] = count;
  }
  return counts;
}

const countRules = (findings: AlertedFindings): number =>
  new Set(findings.map(({ ruleId }) => ruleId)).size;

/** The findings of each run, the most severe first; the run with the most severe finding first. */
function byRun(findings: AlertedFindings): AlertedFindings[] {
  const rank = ({ severity }: AlertedFinding): number => SEVERITIES.indexOf(severity);
  const sorted = [...findings].sort((one, other) => rank(one) - rank(other));
  return [...groupBy(sorted, ({ runId }) => runId).values()];
}

/** The finding that a message about a run is titled by: the one of the incident's rank, if it is new. */
function leadOf({ incident, findings }: Extract<Alert, { kind: 'incident' }>): AlertedFinding {
  const [[worst] = findings] = byRun(findings);
  return findings.find(({ id }) => id === incident.findingId) ?? worst;
}

export const findingUrl = ({ baseUrl }: Pick<MessageSource, 'baseUrl'>, id: string): string =>
  `${baseUrl}/app/findings/${id}`;
export const listUrl = ({ baseUrl }: Pick<MessageSource, 'baseUrl'>): string =>
  `${baseUrl}/app/findings`;
const runUrl = (
  { baseUrl }: MessageSource,
  { id, runId }: Pick<AlertedFinding, 'id' | 'runId'>,
): string => `${baseUrl}/app/runs/${runId}?finding=${id}#found`;

function incidentsUrl({ baseUrl }: MessageSource, findings: AlertedFindings): string {
  const times = findings.map(({ createdAt }) => createdAt.getTime());
  const query = new URLSearchParams({
    state: 'open',
    since: new Date(Math.min(...times)).toISOString(),
    // Findings have microseconds, and the end of the filter is exclusive.
    until: new Date(Math.max(...times) + 1).toISOString(),
  });
  return `${baseUrl}/app/incidents?${query}`;
}

type Named = Pick<AlertedFinding, 'agentName' | 'serviceName' | 'userId'>;

const namesOf = ({ agentName, serviceName, userId }: Named, { showsUser }: Destination) => ({
  agent: agentName,
  service: serviceName,
  ...(showsUser ? { user_id: userId } : {}),
});

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
    recommended_actions: finding.recommendedActions,
    url: findingUrl(source, finding.id),
  };
}

function plainChain({ chain }: Incident, source: MessageSource): object[] {
  return chain.map(({ runId, findingId, ...link }) => ({
    step: link.step,
    surface: link.surface,
    role: link.role,
    severity: link.severity,
    rule_id: link.ruleId,
    rule_title: source.ruleTitle(link.ruleId) ?? null,
    more_rules: link.moreRules,
    finding_id: findingId,
    url: runUrl(source, { id: findingId, runId }),
  }));
}

function plainRun(
  findings: AlertedFindings,
  lead: AlertedFinding,
  destination: Destination,
  source: MessageSource,
) {
  return {
    run_id: lead.runId,
    severity: lead.severity,
    rule_id: lead.ruleId,
    rule_title: source.ruleTitle(lead.ruleId) ?? null,
    ...namesOf(lead, destination),
    new_findings: findings.length,
    rules: countRules(findings),
    url: runUrl(source, lead),
  };
}

const toolUrl = ({ baseUrl }: MessageSource, { id }: ToolChange): string =>
  `${baseUrl}${toolPath(id)}`;
const changedParts = (tool: ToolChange): string[] =>
  (['description', 'schema'] as const).filter((part) => tool[part]);

function plainTool(tool: ToolChange, source: MessageSource): object {
  return {
    id: tool.id,
    agent: tool.agent,
    mcp_server: tool.server,
    name: tool.name,
    version: tool.version,
    changed: changedParts(tool),
    first_seen_at: tool.firstSeenAt.toISOString(),
    first_run_id: tool.firstRunId,
    url: toolUrl(source, tool),
  };
}

/** A change is no finding: it has no severity, and the message says nothing of what the definition says. */
function toolNotice(tool: ToolChange, { workspace }: Destination, source: MessageSource): Notice {
  const parts = changedParts(tool).join(' and ') || 'definition';
  const name = (label: string, value: string | null) =>
    value ? [`${label}: ${cut(showInvisible(value), SENT_NAME_CHARS)}`] : [];
  return {
    title: `Tool changed: ${cut(toolLabel(tool), SENT_NAME_CHARS)}`,
    lines: [
      `Its ${parts} changed. This is no finding: read the new definition before you trust it.`,
      ...name('MCP server', tool.server),
      ...name('Agent', tool.agent),
      `Version: ${tool.version}`,
      `Workspace: ${workspace}`,
      `Time: ${tool.firstSeenAt.toISOString()}`,
    ],
    url: toolUrl(source, tool),
    link: 'Open tool',
  };
}

function plainData(alert: Alert, destination: Destination, source: MessageSource): object {
  if (alert.kind === 'test') return { url: listUrl(source) };
  if (alert.kind === 'tool_change') return { tool: plainTool(alert.tool, source) };
  const { findings } = alert;
  const ids = findings.map(({ id }) => id);
  if (alert.kind === 'incident') {
    const { incident } = alert;
    return {
      incident: {
        ...plainRun(findings, leadOf(alert), destination, source),
        rank: incident.score,
        chain: plainChain(incident, source),
        more_links: incident.moreLinks,
      },
      findings: byRun(findings)
        .flat()
        .slice(0, FINDINGS_DESCRIBED_MAX)
        .map((finding) => plainFinding(finding, source)),
      finding_ids: ids,
    };
  }
  const runs = byRun(findings);
  return {
    count: findings.length,
    by_severity: countBySeverity(findings),
    runs: runs.slice(0, DIGEST_RUNS_MAX).map((own) => plainRun(own, own[0], destination, source)),
    more_runs: Math.max(0, runs.length - DIGEST_RUNS_MAX),
    finding_ids: ids,
    url: incidentsUrl(source, findings),
  };
}

const TYPES = {
  incident: 'incident.created',
  digest: 'incidents.digest',
  tool_change: 'tool.changed',
  test: 'alert.test',
};

function plainBody(alert: Alert, destination: Destination, source: MessageSource): object {
  return {
    type: TYPES[alert.kind],
    version: BODY_VERSION,
    timestamp: alert.at.toISOString(),
    data: { workspace: destination.workspace, ...plainData(alert, destination, source) },
  };
}

interface Notice {
  readonly title: string;
  readonly lines: readonly string[];
  readonly url: string;
  readonly link: string;
}

/** As much as fits, never half a character. */
export function cut(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  return `${text.slice(0, charsMax - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

function nameLines(named: Named, destination: Destination): string[] {
  const { agent, service, user_id: user } = namesOf(named, destination);
  return Object.entries({ Agent: agent, Service: service, User: user }).flatMap(([label, name]) =>
    name == null ? [] : [`${label}: ${cut(showInvisible(name), SENT_NAME_CHARS)}`],
  );
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

function noticeAsGiven(alert: Alert, destination: Destination, source: MessageSource): Notice {
  if (alert.kind === 'test') {
    const lines = ['This destination works. Findings are sent here as they appear.'];
    const title = `Test message of ${destination.workspace}`;
    return { title, lines, url: listUrl(source), link: 'Open findings' };
  }
  if (alert.kind === 'tool_change') return toolNotice(alert.tool, destination, source);
  return alert.kind === 'incident'
    ? incidentNotice(alert, destination, source)
    : digestNotice(alert.findings, destination, source);
}

function digestNotice(
  findings: AlertedFindings,
  destination: Destination,
  source: MessageSource,
): Notice {
  const runs = byRun(findings);
  const severities = Object.entries(countBySeverity(findings));
  const counts = severities.map(([severity, count]) => `${count} ${severity}`).join(', ');
  const lines = runs.slice(0, DIGEST_RUNS_MAX).map((own) => {
    const [lead] = own;
    const others = countRules(own) - 1;
    return [
      `${capital(lead.severity)}: ${source.ruleTitle(lead.ruleId) ?? lead.ruleId}`,
      ...(others > 0 ? [`and ${plural(others, 'other rule')}`] : []),
      ...nameLines(lead, destination).map((line) => `· ${line}`),
    ].join(' ');
  });
  const others = runs.length - lines.length;
  return {
    title: `${plural(findings.length, 'new finding')} in ${plural(runs.length, 'run')}: ${counts}`,
    lines: [
      `Workspace: ${destination.workspace}`,
      ...lines,
      ...(others > 0 ? [`and ${plural(others, 'more run')}`] : []),
    ],
    url: incidentsUrl(source, findings),
    link: 'Open these incidents',
  };
}

function incidentNotice(
  alert: Extract<Alert, { kind: 'incident' }>,
  destination: Destination,
  source: MessageSource,
): Notice {
  const { incident, findings } = alert;
  const lead = leadOf(alert);
  const titleOf = (ruleId: string): string => source.ruleTitle(ruleId) ?? ruleId;
  const chain = incident.chain.map(({ step, surface, ruleId, moreRules }) => {
    const others = moreRules > 0 ? ` and ${plural(moreRules, 'other rule')}` : '';
    return `→ Step ${step}, ${surfaceLabel(surface).toLowerCase()}: ${titleOf(ruleId)}${others}`;
  });
  const { moreLinks } = incident;
  return {
    title: `${capital(lead.severity)}: ${titleOf(lead.ruleId)}`,
    lines: [
      lead.description,
      ...nameLines(lead, destination),
      `New: ${plural(findings.length, 'finding')} of ${plural(countRules(findings), 'rule')}`,
      ...chain,
      ...(moreLinks > 0 ? [`and ${plural(moreLinks, 'more step')} with matches`] : []),
      `Workspace: ${destination.workspace}`,
      `Time: ${lead.createdAt.toISOString()}`,
    ],
    url: runUrl(source, lead),
    link: 'Open run',
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
  if (format !== 'ocsf' || !('findings' in alert)) return plainBody(alert, destination, source);
  const events = alert.findings.map((finding) => ocsfEvent(finding, source));
  const [event] = events;
  return events.length === 1 && event !== undefined ? event : events;
}

/** The JSON body of a webhook; invisible characters in it are escaped, so that a log shows them. */
export function webhookBody(alert: Alert, destination: Destination, source: MessageSource): string {
  return escapeInvisible(JSON.stringify(bodyOf(alert, destination, source)));
}

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
