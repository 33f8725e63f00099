/** The inventory of tools: the list, one tool with what its versions changed, and the changes beside the findings. */
import type { Rule } from '../../../model/rules.ts';
import { type DiffPart, diffOf, schemaLines } from '../../../model/shown/text-diff.ts';
import {
  type ListedTool,
  type ToolInventory,
  type ToolPage,
  type ToolVersion,
  toolLabel,
  toolPath,
} from '../../../model/shown/tools.ts';
import { type Html, type HtmlValue, html } from '../../html.ts';
import { count, many, time } from '../format.ts';
import {
  appPage,
  crumb,
  empty,
  entityLink,
  field,
  type Look,
  listTable,
  NUMBER,
  pager,
  type Viewer,
  writeForm,
  writeTo,
} from '../shell.ts';
import { seenText } from '../text.ts';

export const TOOLS_PATH = '/app/tools';
const RUNS_PATH = '/app/runs';
const CHANGED = `${TOOLS_PATH}?changed=true`;

export interface ToolsPage extends Omit<ToolInventory, 'next'> {
  readonly next: string | null;
  readonly query: string;
  readonly nowMs: number;
}

const toolLink = (one: Pick<ListedTool, 'id' | 'name'>): Html =>
  html`<a href="${toolPath(one.id)}">${toolLabel(one)}</a>`;

function table(tools: readonly ListedTool[], nowMs: number): Html {
  const title = (one: ListedTool) =>
    html`${toolLink(one)}${one.changes > 0 && html` <span class="badge">${many(one.changes, 'change')} not seen</span>`}`;
  return listTable('Tools', tools, [
    ['Tool', title],
    ['MCP server', ({ server }) => (server ? entityLink('mcp_server', server) : '–')],
    ['Agent', ({ agent }) => (agent === '' ? '–' : entityLink('agent', agent))],
    ['Version', ({ version }) => count(version), NUMBER],
    ['Changed', ({ changedAt: at }) => (at === null ? 'never' : time(at, nowMs))],
    ['Last used', ({ lastSeenAt }) => time(lastSeenAt, nowMs)],
  ]);
}

function notes({ isFull, leftOut }: ToolsPage): HtmlValue {
  return [
    isFull &&
      html`<p class="notice" role="status">The workspace has as many definitions as are kept: new ones are not kept.</p>`,
    leftOut > 0 &&
      html`<p class="notice" role="status">A run sent ${many(leftOut, 'definition')} that ${leftOut === 1 ? 'was' : 'were'} not kept: too many or too long, or cut by the sender.</p>`,
  ];
}

export function toolsPage(look: Look, viewer: Viewer, data: ToolsPage): Html {
  const { tools, query, next, nowMs } = data;
  const given = new URLSearchParams(query);
  const isChanged = given.get('changed') === 'true';
  return appPage(look, viewer, {
    title: 'Tools',
    current: RUNS_PATH,
    isWide: true,
    main: html`<div class="way">${crumb('/app/entities', 'Entities')}</div>
<div class="title-line"><h1>Tools</h1><p class="soft">As agents describe them to their model, and MCP servers list them. <a href="/docs/tools">About tools and their changes</a></p></div>
<nav class="views" aria-label="Views"><a class="button quiet small" href="${TOOLS_PATH}"${!isChanged && html` aria-current="true"`}>All tools</a> <a class="button quiet small" href="${CHANGED}"${isChanged && html` aria-current="true"`}>Changes not seen</a></nav>
<form class="filters" method="get" action="${TOOLS_PATH}" role="search" aria-label="Tools">
${field('name', 'Tool', given.get('name'))}${field('mcp_server', 'MCP server', given.get('mcp_server'))}${field('agent', 'Agent', given.get('agent'))}
${isChanged && html`<input type="hidden" name="changed" value="true">`}<div class="buttons"><button>Filter</button> <a class="button quiet" href="${TOOLS_PATH}">Clear</a></div></form>
${notes(data)}
${
  tools.length === 0
    ? empty(
        'No tools',
        html`<p>${isChanged ? 'Nobody has to look at a change.' : 'No evaluated run has sent the definition of a tool that fits.'}</p>`,
      )
    : table(tools, nowMs)
}
${pager(TOOLS_PATH, query, next, 'Next')}`,
  });
}

const TAGS: Readonly<Record<DiffPart['kind'], (text: HtmlValue) => HtmlValue>> = {
  same: (text) => text,
  removed: (text) => html`<del>${text}</del>`,
  added: (text) => html`<ins>${text}</ins>`,
};

/** A text, with what the version before had in its place. */
function difference(before: string | null, after: string | null, by: 'words' | 'lines'): HtmlValue {
  if (after === null) return html`<p class="soft">Not sent.</p>`;
  const parts: readonly DiffPart[] =
    before === null ? [{ kind: 'same', text: after }] : diffOf(before, after, by);
  return html`<pre class="diff">${parts.map(({ kind, text }) => TAGS[kind](seenText(text)))}</pre>`;
}

const lines = (schema: string | null | undefined): string | null =>
  schema == null ? null : schemaLines(schema);

const isCut = (text: string | null, chars: number): HtmlValue =>
  text !== null &&
  text.length < chars &&
  html`<p class="soft">The beginning of ${count(chars)} characters.</p>`;

function changeState({ isChange, acknowledgedAt, acknowledgedBy }: ToolVersion, nowMs: number) {
  if (!isChange) return false;
  return acknowledgedAt === null
    ? html` <span class="badge">change not seen</span>`
    : html` <span class="soft">change marked as seen by ${acknowledgedBy} ${time(acknowledgedAt, nowMs)}</span>`;
}

function version(one: ToolVersion, before: ToolVersion | undefined, data: ToolData): Html {
  const { nowMs } = data;
  const runs = `${count(one.runs)}${one.isExact ? '' : ' or more'} ${one.runs === 1 ? 'run' : 'runs'}`;
  const newest = one.newestRuns.map(
    (id) => html`<a href="${RUNS_PATH}/${id}">${id.slice(0, 8)}</a> `,
  );
  return html`<section class="panel"><h2>Version ${count(one.version)}${changeState(one, nowMs)}</h2>
<p>First sent ${time(one.firstSeenAt, nowMs)} by run <a href="${RUNS_PATH}/${one.firstRunId}">${one.firstRunId.slice(0, 8)}</a>, last ${time(one.lastSeenAt, nowMs)}. Sent by ${runs}${newest.length > 0 && html`, the newest: ${newest}`}</p>
${
  data.tool.isRedacted
    ? html`<p class="soft">This workspace redacts texts: ${before === undefined ? 'hashes are kept.' : redactedChange(one, before)}</p>`
    : html`<h3>Description</h3>${difference(before?.description ?? null, one.description, 'words')}${isCut(one.description, one.descriptionChars)}
<details${before !== undefined && before.schemaHash !== one.schemaHash && html` open`}><summary>Schema</summary>${difference(lines(before?.schema), lines(one.schema), 'lines')}${isCut(one.schema, one.schemaChars)}</details>`
}</section>`;
}

function redactedChange(one: ToolVersion, before: ToolVersion): string {
  const changed = [
    ...(one.descriptionHash === before.descriptionHash ? [] : ['description']),
    ...(one.schemaHash === before.schemaHash ? [] : ['schema']),
  ];
  return `its ${changed.join(' and ')} changed.`;
}

export interface ToolData extends ToolPage {
  /** rules about descriptions of tools with a pattern that matches the newest one */
  readonly matching: readonly Pick<Rule, 'id' | 'title'>[];
  readonly nowMs: number;
}

function matchingRules({ matching, tool }: ToolData): HtmlValue {
  return (
    !tool.isRedacted &&
    html`<section class="panel"><h2>Rules about descriptions of tools</h2>
<p class="soft">Not a finding, and counted nowhere: rules do not run on descriptions of tools. Patterns of these rules match the newest description.</p>
${matching.length === 0 ? html`<p>None.</p>` : html`<ul class="plain">${matching.map(({ id, title }) => html`<li><a href="/app/rules/${id}">${title}</a> <span class="badge">not a finding</span></li>`)}</ul>`}</section>`
  );
}

const openChanges = ({ versions }: ToolPage): number =>
  versions.filter((one) => one.isChange && one.acknowledgedAt === null).length;

function seenForm(viewer: Viewer, id: string, newest: number, label: string): Html {
  return writeForm(
    writeTo(`${toolPath(id)}/seen`, viewer),
    html`<input type="hidden" name="version" value="${newest}"><button class="quiet small">${label}</button>`,
  );
}

export function toolPage(look: Look, viewer: Viewer, data: ToolData): Html {
  const { tool, versions, nowMs } = data;
  const [newest] = versions;
  const oldest = versions.at(-1);
  const open = openChanges(data);
  const name = toolLabel(tool);
  return appPage(look, viewer, {
    title: name,
    current: RUNS_PATH,
    isWide: true,
    main: html`<div class="way">${crumb(TOOLS_PATH, 'Tools')}</div>
<div class="title-line"><h1>${name}</h1><p class="soft always">Tool${tool.server && html` of ${entityLink('mcp_server', tool.server)}`}${tool.agent !== '' && html`, agent ${entityLink('agent', tool.agent)}`}${tool.name !== null && html` · <a href="/app/entities?kind=tool&amp;name=${encodeURIComponent(tool.name)}">Calls</a>`}</p></div>
${
  open > 0 &&
  newest !== undefined &&
  html`<div class="notice" role="status"><p>${many(open, 'change')} not seen, the last ${time(newest.firstSeenAt, nowMs)}: ${newest.runs === 1 ? '1 run' : `${count(newest.runs)} runs`} used the newest definition. Read what it says before you trust it: it comes from whom the tool comes from. <a href="/docs/tools">Why changes matter</a></p>${seenForm(viewer, tool.id, newest.version, 'Mark as seen')}</div>`
}
${matchingRules(data)}
${versions.map((one, index) => version(one, versions[index + 1], data))}
${oldest !== undefined && oldest.version > 1 && html`<p class="soft">Versions before ${count(oldest.version)} are no longer kept.</p>`}`,
  });
}

/** Changes that nobody has marked as seen, above the findings; nothing without one. */
export function toolChanges(
  viewer: Viewer,
  { tools, next }: Pick<ToolInventory, 'tools' | 'next'>,
  nowMs: number,
): HtmlValue {
  return (
    tools.length > 0 &&
    html`<section class="panel" aria-label="Changed tools"><h2>Changed tools</h2>
<p class="soft">The definition of these tools changed. That is no finding. <a href="/docs/tools">Why changes matter</a></p>
<ul class="plain changes">${tools.map(
      (
        one,
      ) => html`<li><span>${toolLink(one)}${one.server && html` of ${one.server}`}${one.agent !== '' && html`, agent ${one.agent}`} <span class="soft">${many(one.changes, 'change')}, the last ${time(one.changedAt, nowMs)}</span></span>
${seenForm(viewer, one.id, one.version, 'Mark as seen')}</li>`,
    )}</ul>${next !== null && html`<p><a href="${CHANGED}">All changed tools</a></p>`}</section>`
  );
}
