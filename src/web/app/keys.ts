/** The keys of a workspace by their first characters, and the forms to create, change and revoke them. */
import { type ListedKey, RATE_LIMIT_DEFAULT, RATE_LIMIT_MAX } from '../../model/people.ts';
import { type Html, type HtmlValue, html } from '../html.ts';
import { count, term, time } from './format.ts';
import {
  appPage,
  confirmed,
  empty,
  type Look,
  listTable,
  NUMBER,
  type Viewer,
  writeForm,
  writeTo,
} from './shell.ts';

const PATH = '/app/keys';
const NAME_CHARS_MAX = 100;

function revocation({ id, name, revokedAt }: ListedKey, viewer: Viewer, nowMs: number): HtmlValue {
  if (revokedAt !== null) return html`<span class="soft">revoked ${time(revokedAt, nowMs)}</span>`;
  if (!viewer.isAdmin) return html`<span class="soft">valid</span>`;
  return confirmed(
    html`Revoke<span class="hidden"> ${name}</span>`,
    'Requests with this key are refused within seconds. This cannot be undone.',
    writeForm(
      writeTo(`${PATH}/${id}/revoke`, viewer),
      html`<button class="danger">Revoke ${name}</button>`,
    ),
  );
}

function limit({ id, name, rateLimitPerMinute, revokedAt }: ListedKey, viewer: Viewer): HtmlValue {
  const perMinute = count(rateLimitPerMinute);
  if (revokedAt !== null || !viewer.isAdmin) return perMinute;
  const field = html`<label>Requests per minute of ${name}<input name="rate_limit_per_minute" type="number" min="1" max="${RATE_LIMIT_MAX}" value="${rateLimitPerMinute}" required></label>
<button>Change limit</button>`;
  return html`${perMinute} <details class="confirmed"><summary>Change<span class="hidden"> the limit of ${name}</span></summary><div>${writeForm(writeTo(`${PATH}/${id}/limit`, viewer), field)}</div></details>`;
}

function createForm(brand: string, viewer: Viewer): Html {
  const fields = html`<label>Name<input name="name" required maxlength="${NAME_CHARS_MAX}" placeholder="production collector"></label>
<label>Kind<select name="kind"><option value="agent">agent (sends)</option><option value="workspace">workspace (reads)</option></select></label>
<label>Prefix of an agent key<select name="prefix"><option value="live">${brand}_live_</option><option value="obs">${brand}_obs_</option></select></label>
<label>Requests per minute<input name="rate_limit_per_minute" type="number" min="1" max="${RATE_LIMIT_MAX}" value="${RATE_LIMIT_DEFAULT}" required></label>
<div class="buttons"><button>Create key</button></div><output></output>`;
  return html`<section class="panel"><h2>Create a key</h2>${writeForm(writeTo(PATH, viewer), fields, 'filters')}</section>`;
}

export function keysPage(
  look: Look,
  viewer: Viewer,
  { keys, nowMs }: { readonly keys: readonly ListedKey[]; readonly nowMs: number },
): Html {
  const table = listTable('Keys', keys, [
    ['Name', ({ name }) => name],
    ['Kind', ({ kind }) => kind],
    ['Prefix', ({ prefix }) => html`<code>${prefix}…</code>`],
    ['Requests per minute', (key) => limit(key, viewer), NUMBER],
    ['Created', ({ createdAt }) => time(createdAt, nowMs)],
    ['Last used', ({ lastUsedAt }) => time(lastUsedAt, nowMs)],
    ['Status', (key) => revocation(key, viewer, nowMs)],
  ]);
  return appPage(look, viewer, {
    title: 'Keys',
    current: PATH,
    main: html`<h1>Keys</h1>
<p class="lead">Agent ${term('key', 'keys')} send telemetry; workspace keys read the API. No key can change settings.</p>
${viewer.isAdmin && createForm(look.brand, viewer)}
<div data-fresh="keys">${
      keys.length === 0
        ? empty(
            'No keys',
            viewer.isAdmin
              ? html`<p>Create an agent key above to send telemetry.</p>`
              : html`<p>You need an agent key to send telemetry: ask an admin of this workspace for one.</p>`,
          )
        : table
    }</div>`,
  });
}
