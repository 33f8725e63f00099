/** The list of incidents: what happened in a run, and why its line is where it is. */
import type { FindingNames, FindingTotal } from '../../../model/findings.ts';
import type { ChainLink, Incident, RankReason } from '../../../model/incidents/incidents.ts';
import type { ToolInventory } from '../../../model/shown/tools.ts';
import { surfaceLabel } from '../../../model/steps.ts';
import { FINDING_STATES } from '../../../model/triage.ts';
import { type Html, html } from '../../html.ts';
import { findingLink, hiddenText, SEE_ALSO } from '../findings.ts';
import { count, type Moment, many, term, time, words } from '../format.ts';
import {
  aboutLink,
  appPage,
  empty,
  entityLink,
  KIND_OF_NAME,
  type Look,
  pager,
  scrolling,
  severityBadge,
  type Viewer,
} from '../shell.ts';
import { toolChanges } from '../tools/tools.ts';
import { stateBadge } from '../triage/triage-panel.ts';
import {
  findingFilters,
  INCIDENTS_PATH,
  incidentsPath,
  incidentViews,
  isNarrow,
  withParameters,
} from './finding-filters.ts';

export interface IncidentsPage {
  readonly incidents: readonly Incident[];
  readonly total: number;
  /** findings of the filter that exceptions hide; null where the list is not without them */
  readonly hidden: FindingTotal | null;
  readonly next: string | null;
  /** runs with findings stored before were not ranked; null when all were */
  readonly searchedTo: Moment | null;
  /** of the request, without its `?` */
  readonly query: string;
  readonly names: FindingNames;
  readonly titleOf: (ruleId: string) => string;
  /** tools with a change that nobody has seen; none on a list with a filter */
  readonly changes: Pick<ToolInventory, 'tools' | 'next'>;
  readonly nowMs: number;
}

function chainLink(link: ChainLink, { runs }: Incident, titleOf: IncidentsPage['titleOf']): Html {
  const { runId, step, surface, tool, findingId, role, moreRules } = link;
  const where = [
    `step ${count(step)}`,
    ...(runs > 1 ? [`of run ${runId.slice(0, 8)}`] : []),
    surfaceLabel(surface).toLowerCase(),
  ].join(' ');
  return html`<li${role !== null && html` class="${role}"`}><a href="${findingLink({ id: findingId, runId })}">${where}</a>${tool !== null && html` <code>${entityLink('tool', tool)}</code>`}: ${titleOf(link.ruleId)}${moreRules > 0 && html` <span class="soft">+${count(moreRules)}</span>`}</li>`;
}

function chain(incident: Incident, titleOf: IncidentsPage['titleOf']): Html {
  const { moreLinks } = incident;
  return html`<ol class="chain" aria-label="Matches in the order of time">${incident.chain.map((link) => chainLink(link, incident, titleOf))}${moreLinks > 0 && html`<li class="soft">${count(moreLinks)} more</li>`}</ol>`;
}

const signed = (points: number): string =>
  points < 0 ? `−${count(-points)}` : `+${count(points)}`;

function reason({ points, text }: RankReason): Html {
  return html`<span>${text} <b>${signed(points)}</b></span> `;
}

function who({ agentName, serviceName, userId, sessionId }: Incident, query: string): Html {
  const first = agentName ?? serviceName;
  const below = Object.entries({
    serviceName: serviceName === first ? null : serviceName,
    userId,
    sessionId,
  }).filter(([, own]) => own !== null) as [keyof typeof KIND_OF_NAME, string][];
  if (first === null && below.length === 0) return html`<span class="soft">–</span>`;
  const name = agentName === null ? 'service' : 'agent';
  return html`${first !== null && html`<a class="name" href="${incidentsPath(query, { [name]: `"${first}"` })}" title="Only incidents of ${first}">${first}</a>${aboutLink(agentName === null ? 'serviceName' : 'agentName', first)}`}${below.map(([key, line]) => html` <span class="soft below" title="${line}">${entityLink(KIND_OF_NAME[key], line)}</span>`)}`;
}

function states({ states: own }: Incident): Html {
  const known = FINDING_STATES.flatMap((state) => {
    const number = own[state];
    return number === undefined ? [] : [{ state, number }];
  });
  const [only, ...others] = known;
  if (only !== undefined && others.length === 0) return stateBadge(only.state);
  return html`${known.map(({ state, number }) => `${count(number)} ${words(state)}`).join(', ')}`;
}

/** The findings of a line that is one run or session; of several, those of its first rule and text. */
function findingsHref({ runId, sessionId, repeats, findingId }: Incident, query: string): string {
  if (repeats > 1) return withParameters(query, { same_as: findingId });
  return sessionId === null
    ? withParameters(query, { run_id: runId })
    : withParameters(query, { session_id: `"${sessionId}"` });
}

function row(incident: Incident, { query, titleOf, nowMs }: IncidentsPage): Html {
  const { runId, findingId, ruleId, severity, rules, repeats, findings, runs, score } = incident;
  const href = findingLink({ id: findingId, runId });
  return html`<tr id="i-${runId}">
<td data-label="Severity">${severityBadge(severity)} <span class="soft below" title="The sum of the points">rank ${count(score)}</span></td>
<td class="what" data-label="Incident"><span class="title"><a href="${href}">${titleOf(ruleId)}</a>${rules > 1 && html` <span class="soft">and ${many(rules - 1, 'other rule')}</span>`}${repeats > 1 && html` <span class="badge">same findings in ${many(repeats, 'run')}</span>`}</span>
${chain(incident, titleOf)}
<span class="reasons soft">${incident.reasons.map(reason)}</span></td>
<td data-label="Agent">${who(incident, query)}</td>
<td data-label="Findings"><a href="${findingsHref(incident, query)}">${many(findings, 'finding')}</a> <span class="soft below">${many(runs, 'run')}</span></td>
<td data-label="State">${states(incident)}</td>
<td data-label="Found">${time(incident.lastSeenAt, nowMs)}${repeats > 1 && html` <span class="soft below">since ${time(incident.firstSeenAt, nowMs)}</span>`}</td></tr>
`;
}

const HEADS = ['Severity', 'Incident', 'Agent', 'Findings', 'State', 'Found'];

function table(data: IncidentsPage): Html {
  return scrolling(
    'Incidents',
    html`<table class="stack inbox incidents" aria-label="Incidents"><thead><tr>
${HEADS.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
<tbody>${data.incidents.map((incident) => row(incident, data))}</tbody></table>`,
  );
}

function emptyState(query: string): Html {
  return isNarrow(query)
    ? empty(
        'No incidents match this filter',
        html`<p><a href="${incidentsPath('', {})}">Show all open incidents</a></p>`,
      )
    : empty(
        'No incidents yet',
        html`<p>A run is evaluated about a minute after its last step arrived. If rules matched it, it then appears here.</p>
${SEE_ALSO}`,
      );
}

function olderNote({ query, searchedTo, nowMs }: IncidentsPage): Html | false {
  if (searchedTo === null) return false;
  const older = incidentsPath(query, { until: searchedTo.toISOString() });
  return html`<p class="notice" role="status">The newest runs with findings are ranked, back to ${time(searchedTo, nowMs)}.
<a class="button quiet" href="${older}">Rank older runs</a></p>`;
}

export function incidentsPage(look: Look, viewer: Viewer, data: IncidentsPage): Html {
  const { incidents, query, next, total, names } = data;
  return appPage(look, viewer, {
    title: 'Incidents',
    current: INCIDENTS_PATH,
    isWide: true,
    main: html`<div class="head"><div class="title-line"><h1>Incidents</h1>
<p class="soft">${term('run', 'Runs')} and sessions with ${term('finding', 'findings')}, ranked: each line says why.</p></div>
<p class="soft exports"><a href="/app/exceptions">Exceptions</a></p></div>
${incidentViews(query)}
${findingFilters(query, names, INCIDENTS_PATH)}
${toolChanges(viewer, data.changes, data.nowMs)}
<p class="total">${many(total, 'incident')}${hiddenText(data.hidden, query, data.hidden?.count === 1 ? ' finding' : ' findings')}</p>
${incidents.length === 0 ? emptyState(query) : table(data)}
${olderNote(data)}
${pager(INCIDENTS_PATH, query, next, 'Next')}`,
  });
}
