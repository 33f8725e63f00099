/** The page of an agent, user, session, service, model, tool or MCP server, and the index of all of them. */
import { SEVERITIES } from '../../../model/rules.ts';
import type { RunTurn, TurnText } from '../../../model/run-page.ts';
import type { RunSummary } from '../../../model/runs.ts';
import {
  ENTITY_KIND_NAMES,
  ENTITY_KINDS,
  type EntityFacts,
  type EntityKind,
  type EntityRef,
  type NamedRuns,
} from '../../../model/shown/entities.ts';
import { USAGE_COLUMNS } from '../../../model/usage.ts';
import { type Html, type HtmlValue, html } from '../../html.ts';
import { barChart } from '../charts.ts';
import { FINDINGS_PATH } from '../findings/finding-filters.ts';
import { count, dayLabel, duration, many, time } from '../format.ts';
import { costText } from '../run/step-head.ts';
import { unreadableText } from '../run-check.ts';
import { nameOf, shownTitle } from '../runs.ts';
import {
  appPage,
  crumb,
  empty,
  entityLink,
  type Look,
  listTable,
  NUMBER,
  severityBadge,
  strip,
  type Viewer,
} from '../shell.ts';
import { seenText } from '../text.ts';

const PATH = '/app/entities';
const RUNS_PATH = '/app/runs';
const TITLE_UNITS = 120;

interface EntitiesPage {
  readonly facts: EntityFacts;
  readonly days: number;
  readonly nowMs: number;
}

export type SessionTurn = { readonly run: RunSummary } & RunTurn;

export interface EntityPage extends EntitiesPage {
  readonly entity: EntityRef;
  /** runs of a session, in the order of arrival; null of others */
  readonly conversation: {
    readonly turns: readonly SessionTurn[];
    readonly earlier: string | null;
  } | null;
  readonly isRedacted: boolean;
  readonly titleOf: (ruleId: string) => string;
}

const RANGES = [1, 7, 30, 90];

function ranges(entity: EntityRef | null, days: number): Html {
  const link = (range: number): string => {
    const query = new URLSearchParams({ ...entity, days: String(range) });
    return `${PATH}?${query}`;
  };
  const label = (range: number) => (range === 1 ? 'Last 24 hours' : `Last ${range} days`);
  return html`<nav class="views" aria-label="Range">${RANGES.map((range) => html`<a class="button quiet small" href="${link(range)}"${range === days && html` aria-current="true"`}>${label(range)}</a> `)}</nav>`;
}

function cutNote({ readTo }: EntityFacts, nowMs: number): HtmlValue {
  return (
    readTo !== null &&
    html`<p class="notice" role="status">The newest 10,000 runs are counted, back to ${time(readTo, nowMs)}. Choose a shorter range to see all of it.</p>`
  );
}

function names(kind: EntityKind, listed: readonly NamedRuns[]): HtmlValue {
  const { label } = ENTITY_KINDS[kind];
  return (
    listed.length > 0 &&
    html`<section class="panel"><h2>${label}s</h2><ul class="plain">${listed.map(({ name, runs }) => html`<li>${entityLink(kind, name)} <span class="soft">${many(runs, 'run')}</span></li>`)}</ul></section>`
  );
}

const neighbours = ({ names: all }: EntityFacts, except: EntityKind | null): Html =>
  html`<div class="grid wide">${ENTITY_KIND_NAMES.map((kind) => kind !== except && names(kind, all[kind]))}</div>`;

/** The filter of a list for this entity; null for what lists cannot be filtered by. */
function listQuery({ kind, name }: EntityRef): string | null {
  const { filter } = ENTITY_KINDS[kind];
  // In quotes a filter finds only the whole name.
  return filter === null ? null : `${filter}=${encodeURIComponent(`"${name}"`)}`;
}

function charts({ days }: EntityFacts): Html {
  const labels = days.map(({ day }) => dayLabel(day));
  const chart = { slot: 'Day (UTC)', labels, isStacked: true };
  const sums = (title: string, series: Parameters<typeof barChart>[0]['series']): HtmlValue =>
    series.some(({ values }) => values.some((value) => value !== null)) &&
    barChart({ ...chart, title, series });
  return html`<div class="grid wide">${sums('Runs by day', [
    { name: 'failed', look: 'bar-high', values: days.map(({ errors }) => errors) },
    { name: 'others', look: 'bar-accent', values: days.map(({ runs, errors }) => runs - errors) },
  ])}
${sums('Tokens by day', [
  { name: 'input', look: 'bar-soft', values: days.map(({ inputTokens }) => inputTokens) },
  { name: 'output', look: 'bar-accent', values: days.map(({ outputTokens }) => outputTokens) },
])}
${sums('Tokens of caches and reasoning by day', [
  { name: 'read from cache', look: 'bar-soft', values: days.map((day) => day.cacheReadTokens) },
  {
    name: 'written to cache',
    look: 'bar-informational',
    values: days.map((day) => day.cacheWriteTokens),
  },
  { name: 'reasoning', look: 'bar-accent', values: days.map((day) => day.reasoningTokens) },
])}
${
  days.some(({ costUsd }) => costUsd !== null) &&
  barChart({
    ...chart,
    title: 'Cost by day',
    series: [{ name: 'cost', look: 'bar-accent', values: days.map(({ costUsd }) => costUsd) }],
    format: (value) => costText(value) ?? '',
  })
}</div>`;
}

function rules({ facts, entity, titleOf, nowMs }: EntityPage): HtmlValue {
  if (facts.rules.length === 0)
    return html`<section class="panel"><h2>Findings</h2><p>None in these runs.</p></section>`;
  const query = listQuery(entity);
  const number = (ruleId: string, findings: number) =>
    query === null
      ? count(findings)
      : html`<a href="${FINDINGS_PATH}?rule_id=${ruleId}&amp;state=all&amp;${query}">${count(findings)}</a>`;
  return html`<section class="panel"><h2>Findings by rule</h2>${listTable(
    'Findings by rule',
    facts.rules,
    [
      ['Severity', ({ severity }) => severityBadge(severity)],
      ['Rule', ({ ruleId }) => html`<a href="/app/rules/${ruleId}">${titleOf(ruleId)}</a>`],
      ['Findings', ({ ruleId, findings }) => number(ruleId, findings), NUMBER],
      ['False positives', ({ dismissed }) => count(dismissed), NUMBER],
      ['Last', ({ lastAt }) => time(lastAt, nowMs)],
    ],
  )}</section>`;
}

function bubble(who: string, said: TurnText | null, runId: string): HtmlValue {
  return (
    said !== null &&
    html`<div class="${who === 'User' ? 'said' : 'answered'}"><span class="soft">${who}</span><p class="text">${seenText(said.text)}${said.isCut && html`… <a href="${RUNS_PATH}/${runId}?view=texts">whole text</a>`}</p></div>`
  );
}

function turnItem({ run, said, answered, isWhole, tools }: SessionTurn, nowMs: number): Html {
  const { runId, severities } = run;
  const worst = SEVERITIES.find((one) => severities.includes(one));
  const title = run.title === null ? nameOf(run) : shownTitle(run.title, TITLE_UNITS);
  const calls = tools.map(({ name, calls }) => (calls === 1 ? name : `${name} × ${calls}`));
  return html`<li id="run-${runId}">${said === null && html`<p><a href="${RUNS_PATH}/${runId}">${title}</a></p>`}${bubble('User', said, runId)}
${calls.length > 0 && html`<p class="soft">${isWhole ? 'Tools' : 'Tools of the first and last steps'}: ${calls.join(', ')}</p>`}
${bubble('Agent', answered, runId)}
${unreadableText(run).map((text) => html`<p class="notice error">${text}.</p>`)}
<p class="soft"><a href="${RUNS_PATH}/${runId}">${many(run.spans + run.logRecords, 'step')}</a> · ${worst !== undefined && html`<a href="${RUNS_PATH}/${runId}">${severityBadge(worst)} ${many(severities.length, 'finding')}</a> · `}${time(run.firstArrivalAt, nowMs)}</p></li>`;
}

/** The prompts of a session with their answers, one after another. */
function conversation({ conversation: shown, isRedacted, entity, days, nowMs }: EntityPage) {
  if (shown === null || shown.turns.length === 0) return null;
  const { turns, earlier } = shown;
  const link = (cursor: string): string =>
    `${PATH}?${new URLSearchParams({ ...entity, days: String(days), cursor })}`;
  return html`<section class="panel"><h2>Conversation</h2>
${isRedacted && html`<p class="soft">This workspace redacts texts.</p>`}${earlier !== null && html`<p><a href="${link(earlier)}">Earlier turns</a></p>`}
<ol class="conversation">${turns.map((turn) => turnItem(turn, nowMs))}</ol></section>`;
}

/** The definitions of a tool, or of the tools of an agent or MCP server. */
function definitionsLink({ kind, name }: EntityRef): HtmlValue {
  const filters: Partial<Record<EntityKind, string>> = {
    agent: 'agent',
    mcp_server: 'mcp_server',
    tool: 'name',
  };
  const filter = filters[kind];
  return (
    filter !== undefined &&
    html` · <a href="/app/tools?${filter}=${encodeURIComponent(name)}">${kind === 'tool' ? 'Definitions' : 'Tools'}</a>`
  );
}

export function entityPage(look: Look, viewer: Viewer, data: EntityPage): Html {
  const { facts, entity, days, nowMs } = data;
  const query = listQuery(entity);
  const ms = (value: number | null): HtmlValue => (value === null ? null : duration(value));
  const tokens = (value: number | null): HtmlValue => (value === null ? null : count(value));
  return appPage(look, viewer, {
    title: entity.name,
    current: RUNS_PATH,
    isWide: true,
    main: html`<div class="way">${crumb(PATH, 'Entities')}</div>
<div class="title-line"><h1>${entity.name}</h1><p class="soft always">${ENTITY_KINDS[entity.kind].label}${query !== null && html` · <a href="${RUNS_PATH}?${query}">Runs</a> · <a href="${FINDINGS_PATH}?${query}">Findings</a>`}${definitionsLink(entity)}</p></div>
${ranges(entity, days)}
${cutNote(facts, nowMs)}
${
  facts.runs === 0
    ? empty('No runs in this range', html`<p>Choose a longer range.</p>`)
    : html`<section class="panel">${strip([
        ['Runs', count(facts.runs)],
        ['Failed', count(facts.errors)],
        ['Not evaluated yet', facts.notEvaluated === 0 ? null : count(facts.notEvaluated)],
        ['Duration, median', ms(facts.p50)],
        ['Duration, p95', ms(facts.p95)],
        ...USAGE_COLUMNS.map(([field, , label]): [string, HtmlValue] => [
          label,
          field === 'costUsd' ? costText(facts.costUsd) : tokens(facts[field]),
        ]),
        ['First seen', time(facts.firstSeen, nowMs)],
        ['Last seen', time(facts.lastSeen, nowMs)],
      ])}</section>
${conversation(data)}${charts(facts)}${rules(data)}
${neighbours(facts, entity.kind)}`
}`,
  });
}

export function entitiesPage(look: Look, viewer: Viewer, data: EntitiesPage): Html {
  const { facts, days, nowMs } = data;
  return appPage(look, viewer, {
    title: 'Entities',
    current: RUNS_PATH,
    isWide: true,
    main: html`<div class="way">${crumb(RUNS_PATH, 'Runs')}</div>
<div class="title-line"><h1>Entities</h1><p class="soft">Agents, services, users, sessions, models and tools that runs name, the most frequent first. <a href="/app/tools">Definitions of tools</a></p></div>
${ranges(null, days)}
${cutNote(facts, nowMs)}
${facts.runs === 0 ? empty('No runs in this range', html`<p>Choose a longer range.</p>`) : neighbours(facts, null)}`,
  });
}
