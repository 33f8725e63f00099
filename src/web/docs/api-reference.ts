/** The API reference as a page: `/openapi.json`, to read. Pure; loads nothing. */

import { type Html, html } from '../html.ts';
import type { ApiContent, ApiDocument, ApiResponse } from './api-document.ts';
import {
  anchorOf,
  answersOf,
  commandOf,
  examplesOf,
  groupsOf,
  keyOf,
  type OperationGroup,
  type PlacedOperation,
  parameterRows,
  type Row,
  rowsOf,
  schemaAnchor,
  type TypePart,
  typeOf,
} from './api-parts.ts';

/** Text with `code` in it. */
function inline(text: string): Html[] {
  return text
    .split('`')
    .map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : html`${part}`));
}

const paragraphs = (text: string): Html[] =>
  text.split('\n\n').map((part) => html`<p>${inline(part)}</p>\n`);

const code = (text: string): Html => html`<pre tabindex="0"><code>${text}</code></pre>\n`;

function anchor(id: string, text: string): Html {
  return html`<a class="anchor" href="#${id}" aria-label="Link to ${text}">#</a>`;
}

const typeHtml = (parts: readonly TypePart[]): Html[] =>
  parts.map(({ text, schema }) =>
    schema === null ? html`${text}` : html`<a href="#${schemaAnchor(schema)}">${text}</a>`,
  );

function rowHtml(row: Row & { readonly in?: string }): Html {
  const { name, type, required, description, limits } = row;
  return html`<tr><td><code>${name}</code></td>${
    row.in !== undefined && html`<td>${row.in}</td>`
  }<td>${typeHtml(type)}${!required && html`<br><span class="soft">optional</span>`}</td>
<td>${inline(description)}${limits.map((limit) => html` <span class="soft">${limit}</span>`)}</td></tr>
`;
}

function table(rows: readonly (Row & { readonly in?: string })[], first: string): Html {
  const isPlaced = rows[0]?.in !== undefined;
  return html`<div class="scroll" tabindex="0"><table>
<thead><tr><th>${first}</th>${isPlaced && html`<th>In</th>`}<th>Type</th><th>Meaning</th></tr></thead>
<tbody>${rows.map(rowHtml)}</tbody></table></div>
`;
}

function examplesHtml(content: ApiContent): Html[] {
  return examplesOf(content).map(
    ({
      name,
      summary,
      text,
    }) => html`<details><summary><code>${name}</code>: ${inline(summary)}</summary>
${code(text)}</details>
`,
  );
}

function contentHtml([mediaType, content]: readonly [string, ApiContent]): Html {
  return html`<p><code>${mediaType}</code>: ${typeHtml(typeOf(content.schema))}</p>
${examplesHtml(content)}`;
}

function responseHtml([status, response]: readonly [string, ApiResponse]): Html {
  const { description, headers = {}, content } = response;
  return html`<h4>${status}</h4>
<p>${inline(description)}</p>
${Object.entries(headers).map(
  ([name, header]) => html`<p>Header <code>${name}</code>: ${inline(header.description)}</p>\n`,
)}${Object.entries(content).map(contentHtml)}`;
}

/** Refusals are many and short: one table. */
function refusalsHtml(refused: readonly (readonly [string, ApiResponse])[]): Html {
  return html`<h4>Refusals</h4>
<div class="scroll" tabindex="0"><table>
<thead><tr><th>Status</th><th>When</th><th>Body</th></tr></thead>
<tbody>${refused.map(
    ([status, { description, headers = {}, content }]) => html`<tr><td>${status}</td>
<td>${inline(description)}${Object.keys(headers).map(
      (name) => html` <span class="soft">Header <code>${name}</code>.</span>`,
    )}</td>
<td>${Object.entries(content).map(contentHtml)}</td></tr>
`,
  )}</tbody></table></div>
`;
}

function operationHtml(operation: PlacedOperation, document: ApiDocument): Html {
  const { operationId, method, path, summary, description, requestBody } = operation;
  const { taken, refused } = answersOf(operation);
  const rows = parameterRows(operation);
  return html`<section aria-labelledby="${operationId}">
<h3 id="${operationId}">${summary}${anchor(operationId, summary)}</h3>
<p><code>${method.toUpperCase()} ${path}</code> · needs ${keyOf(operation)}</p>
${paragraphs(description)}${code(commandOf(operation, document))}
${rows.length > 0 && table(rows, 'Parameter')}
${
  requestBody !== undefined &&
  html`<h4>Body</h4>
<p>${inline(requestBody.description)}</p>
${Object.entries(requestBody.content).map(contentHtml)}`
}
${taken.map(responseHtml)}${refused.length > 0 && refusalsHtml(refused)}</section>
`;
}

function groupHtml({ name, description, operations }: OperationGroup, document: ApiDocument): Html {
  const id = anchorOf(name);
  return html`<h2 id="${id}">${name}${anchor(id, name)}</h2>
<p>${inline(description)}</p>
${operations.map((operation) => operationHtml(operation, document))}`;
}

function schemasHtml({ components }: ApiDocument): Html[] {
  return Object.entries(components.schemas).map(([name, schema]) => {
    const id = schemaAnchor(name);
    const rows = rowsOf(schema);
    return html`<h3 id="${id}">${name}${anchor(id, name)}</h3>
<p>${inline(schema.description ?? '')}</p>
${rows.length > 0 && table(rows, 'Member')}`;
  });
}

/** The headings a table of contents shows: the tags, and the schemas. */
export function apiReferenceHeadings(document: ApiDocument) {
  const names = [...document.tags.map(({ name }) => name), 'Schemas'];
  return names.map((text) => ({ id: anchorOf(text), text, depth: 2 }));
}

/** The whole reference, from its h1 on. */
export function apiReference(document: ApiDocument): Html {
  const { info, servers, components } = document;
  return html`<h1>${info.title}</h1>
${paragraphs(info.description)}<p>Version ${info.version}, served at ${servers.map(
    ({ url }) => html`<code>${url}</code>`,
  )}. The same for machines: <a href="/openapi.json">openapi.json</a>.</p>
<ul>${Object.values(components.securitySchemes).map(
    ({ description }) => html`<li>${inline(description)}</li>`,
  )}</ul>
${groupsOf(document).map((group) => groupHtml(group, document))}
<h2 id="schemas">Schemas${anchor('schemas', 'Schemas')}</h2>
${schemasHtml(document)}`;
}
