/** The panel of refused requests: which key, from where, why, and what to change in the sender. */
import {
  type ListedRefusal,
  type ListedRefusals,
  NOTHING_KNOWN,
} from '../../model/refused-requests.ts';
import { type Html, type HtmlValue, html } from '../html.ts';
import { count, time } from './format.ts';
import { scrolling } from './shell.ts';

interface Advice {
  readonly what: string;
  readonly change: HtmlValue;
}

const ENDPOINT = html`Set <code>OTEL_EXPORTER_OTLP_ENDPOINT</code> to the observe address without a path: exporters add <code>/v1/traces</code>, <code>/v1/metrics</code> or <code>/v1/logs</code> themselves.`;

/** By the codes of the error table that a sender of telemetry can get, `NOTHING_KNOWN` and `revoked_key`. */
const ADVICE: Readonly<Record<string, Advice>> = {
  revoked_key: {
    what: 'Revoked key',
    change: html`Create a <a href="/app/keys">key</a> and set it in the exporter.`,
  },
  invalid_credential: {
    what: 'Key not active yet',
    change: 'Nothing: a new key works within five seconds.',
  },
  wrong_key_kind: {
    what: 'Workspace key used to send',
    change: html`Workspace keys can only read. Send telemetry with an <a href="/app/keys">agent key</a>.`,
  },
  rate_limited: {
    what: 'Rate limit exceeded',
    change: html`Raise the limit of the <a href="/app/keys">key</a>, or export larger batches less often.`,
  },
  unsupported_type: {
    what: 'Protobuf or another content type',
    change: html`Set <code>OTEL_EXPORTER_OTLP_PROTOCOL=http/json</code>. If the SDK cannot send JSON, put an OpenTelemetry Collector in between: <a href="/docs/instrumentations">instrumentations</a>.`,
  },
  unsupported_encoding: {
    what: 'Unsupported compression',
    change: html`Set <code>OTEL_EXPORTER_OTLP_COMPRESSION=gzip</code>.`,
  },
  body_too_large: {
    what: 'Body too large',
    change: html`Export smaller batches (<code>OTEL_BSP_MAX_EXPORT_BATCH_SIZE</code>), or raise <code>MAX_BODY_BYTES</code> on the server.`,
  },
  undecodable_body: {
    what: 'Invalid OTLP JSON',
    change: html`Send the same body with <code>curl</code>: the response says what is wrong and where.`,
  },
  [NOTHING_KNOWN]: {
    what: 'Nothing known in the body, or in a part of it',
    change: html`Send each signal to its own path, as OTLP 1.x in lowerCamelCase JSON. The response says what was expected, and which keys the body has.`,
  },
  unstorable_rows: {
    what: 'Rejected by PostgreSQL',
    change: html`Ask the operator of this server: the body is kept in the table <code>rejected_requests</code>.`,
  },
  not_found: { what: 'Wrong path', change: ENDPOINT },
  method_not_allowed: { what: 'Wrong method', change: html`Send telemetry with POST.` },
  bare_path_gone: {
    what: 'Wrong host',
    change: html`This path is served on the observe address, not on the dashboard’s address. ${ENDPOINT}`,
  },
  bad_request: {
    what: 'Invalid HTTP headers',
    change:
      'A header that may appear only once was sent twice, or two headers contradict each other.',
  },
};

function row(refusal: ListedRefusal, nowMs: number): Html {
  const { what, change } = ADVICE[refusal.reason] ?? {
    what: refusal.reason,
    change: html`See <a href="/docs/errors">errors</a>.`,
  };
  return html`<tr><td data-label="Requests" class="number">${count(refusal.requests)}</td>
<td data-label="Reason"><a href="/docs/errors#${refusal.reason === 'revoked_key' ? 'invalid_credential' : refusal.reason}">${what}</a><br><code>${refusal.path}</code></td>
<td data-label="What to change">${change}</td>
<td data-label="Key">${refusal.keyName}<br><code>${refusal.keyPrefix}…</code></td>
<td data-label="Sender"><code>${refusal.address}</code><br><span class="soft">${refusal.userAgent === '' ? 'no User-Agent' : refusal.userAgent}</span></td>
<td data-label="Last seen">${time(refusal.lastAt, nowMs)}</td></tr>
`;
}

/** The panel; what belongs to no workspace is in the server's log. */
export function refusedPanel({ groups, requests }: ListedRefusals, nowMs: number): Html {
  const unknown = html`<p class="soft">Requests without a key, or with an unknown key, cannot be assigned to a workspace: find them in the server’s log and in <code>sluice_ingest_refused_requests_total</code> of <code>/metrics</code>.</p>`;
  if (groups.length === 0) {
    return html`<section class="panel refused" id="refused"><h2>Refused requests, last hour</h2>
<p>No request with a key of this workspace was refused.</p>${unknown}</section>`;
  }
  const table = html`<table class="stack" aria-label="Refused requests"><thead><tr><th scope="col" class="number">Requests</th><th scope="col">Reason</th>
<th scope="col">What to change</th><th scope="col">Key</th><th scope="col">Sender</th><th scope="col">Last seen</th></tr></thead>
<tbody>${groups.map((one) => row(one, nowMs))}</tbody></table>`;
  const listed = groups.reduce((sum, one) => sum + one.requests, 0);
  return html`<section class="panel refused" id="refused"><h2>Refused requests, last hour: ${count(requests)}</h2>
<p>The telemetry in these requests was not stored. Most exporters do not report such errors.</p>
${scrolling('Refused requests', table)}
${listed < requests && html`<p class="soft">Only the most frequent are listed.</p>`}${unknown}</section>`;
}
