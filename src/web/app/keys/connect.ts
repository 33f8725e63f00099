/**
 * From a new agent key to the first run: the guides of `docs/send/` with the key filled in, and whether
 * something has arrived. The key is in the one page that answers its creation, and nowhere else.
 */
import type { KeyArrival } from '../../../model/people.ts';
import { escapeHtml, Html, html } from '../../html.ts';
import { term, time } from '../format.ts';
import { appPage, crumb, type Look, type Viewer } from '../shell.ts';

/** A page of `docs/send/`: how a client sends. */
export interface SendGuide {
  readonly title: string;
  readonly html: Html;
}

/** Placeholders of the guides for the key and the address. */
const KEY = 'sluice_live_…';
const ADDRESS = 'http://localhost:4318';
const FIRST = /OpenTelemetry's own/;

const pathOf = (keyId: number): string => `/app/keys/${keyId}/arrival`;

/** A guide without its title and anchors: several are on one page. */
function filledIn(guide: SendGuide, key: string, observeUrl: string): Html {
  const text = guide.html.text
    .replace(/<h1[\s\S]*?<\/h1>/, '')
    .replaceAll(/<a class="anchor"[^>]*>#<\/a>/g, '')
    .replaceAll(/(<h[23]) id="[^"]*"/g, '$1')
    .replaceAll(/<(\/?)h3>/g, '<$1h4>')
    .replaceAll(/<(\/?)h2>/g, '<$1h3>')
    .replaceAll(KEY, () => escapeHtml(key))
    .replaceAll(ADDRESS, () => escapeHtml(observeUrl));
  return new Html(text);
}

/** Says whether a run has arrived since the key was created; the script reads it again until then. */
function arrivalPanel(keyId: number, { lastUsedAt, run }: KeyArrival, nowMs: number): Html {
  const path = pathOf(keyId);
  if (run !== null) {
    return html`<div data-arrival><p class="notice">The first ${term('run', 'run')} arrived ${time(run.at, nowMs)}: <a href="/app/runs/${run.id}">open it</a>.
It is evaluated about a minute after its last step.</p></div>`;
  }
  return html`<div data-arrival="${path}"><p class="notice"><span data-arrival-status role="status">Waiting for the first span…</span>
<a href="${path}" target="_blank">Check now</a></p>
${
  lastUsedAt !== null &&
  html`<p>The key was last used ${time(lastUsedAt, nowMs)}, and no run arrived: <a href="/app">Overview</a> lists requests that were refused.
Metrics alone make no run.</p>`
}</div>`;
}

export function connectSection(
  keyId: number,
  key: string,
  { guides, observeUrl }: { readonly guides: readonly SendGuide[]; readonly observeUrl: string },
  nowMs: number,
): Html {
  const tabs = guides.map((guide) => {
    const isFirst = FIRST.test(guide.title);
    const label = guide.title.replace(/^Send from (?:the |an )?/, '');
    return html`<details name="sdk"${isFirst && html` open`}><summary>${label}</summary><div class="prose">${filledIn(guide, key, observeUrl)}</div></details>
`;
  });
  return html`<section class="panel connect" data-connect><h2>Send your first span</h2>
${arrivalPanel(keyId, { name: '', lastUsedAt: null, run: null }, nowMs)}
<p>Choose what your agent is built with. The address and the key are filled in.</p>
${tabs}</section>`;
}

export function arrivalPage(
  look: Look,
  viewer: Viewer,
  keyId: number,
  { arrival, nowMs }: { readonly arrival: KeyArrival; readonly nowMs: number },
): Html {
  return appPage(look, viewer, {
    title: 'First span',
    current: '/app/keys',
    main: html`${crumb('/app/keys', 'Keys')}
<h1>First span</h1>
<p class="lead">What has arrived in ${viewer.workspaceName} since the key “${arrival.name}” was created.</p>
${arrivalPanel(keyId, arrival, nowMs)}`,
  });
}
