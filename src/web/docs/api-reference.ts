/** The API reference: `/openapi.json` as Markdown, from which `document.ts` makes the page. */
import { escapeHtml } from '../html.ts';
import type { ApiContent, ApiDocument, ApiResponse } from './api-document.ts';
import {
  answersOf,
  commandOf,
  examplesOf,
  groupsOf,
  keyOf,
  type PlacedOperation,
  parameterRows,
  type Row,
  rowsOf,
  typeOf,
} from './api-parts.ts';

/** A table cell: a bar would end it, a line break would end the row. */
const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
/** Text with code spans, in which a `<` outside of them starts no HTML. */
const prose = (text: string): string =>
  text
    .split('`')
    .map((part, index) => (index % 2 === 1 ? part : part.replaceAll('<', '&lt;')))
    .join('`');
/** In code spans, so that no expression is taken for markup. */
const limitText = (limit: string): string => `\`${limit}\``;

function table(rows: readonly (Row & { readonly in?: string })[], first: string): string {
  const lines = rows.map((row) => {
    const { name, required, description, limits } = row;
    const place = row.in === undefined ? '' : `, ${row.in}`;
    const type = `${row.type}${place}${required ? '' : ', optional'}`;
    const meaning = [prose(description), ...limits.map(limitText)].filter(Boolean).join(' ');
    return `| \`${name}\` | ${cell(type)} | ${cell(meaning)} |`;
  });
  return `| ${first} | type | meaning |\n|---|---|---|\n${lines.join('\n')}\n`;
}

const fence = (text: string, language: string): string => `\`\`\`${language}\n${text}\n\`\`\`\n`;

/** An example, folded. Text in an HTML block is not Markdown, so its code spans are elements. */
function exampleText({ name, summary, text }: ReturnType<typeof examplesOf>[number]): string {
  const html = escapeHtml(summary).replaceAll(/`([^`]*)`/g, '<code>$1</code>');
  const title = `<summary><code>${escapeHtml(name)}</code>: ${html}</summary>`;
  return `<details>${title}\n\n${fence(text, 'json')}\n</details>\n`;
}

function contentText([mediaType, content]: readonly [string, ApiContent]): string {
  const examples = examplesOf(content).map(exampleText);
  return [`\`${mediaType}\`: ${typeOf(content.schema)}\n`, ...examples].join('\n');
}

function responseText([status, response]: readonly [string, ApiResponse]): string {
  const { description, headers = {}, content } = response;
  return [
    `#### ${status}\n`,
    `${prose(description)}\n`,
    ...Object.entries(headers).map(
      ([name, header]) => `Header \`${name}\`: ${prose(header.description)}\n`,
    ),
    ...Object.entries(content).map(contentText),
  ].join('\n');
}

/** Refusals are many and short: one table, each example on a line. */
function refusalsText(refused: readonly (readonly [string, ApiResponse])[]): string {
  const lines = refused.map(([status, { description, headers = {}, content }]) => {
    const names = Object.keys(headers).map((name) => ` Header \`${name}\`.`);
    const bodies = Object.values(content).map(({ schema, examples = {} }) => {
      const texts = Object.values(examples).map(({ value }) => `\`${JSON.stringify(value)}\``);
      return `${typeOf(schema)}: ${texts.join(' or ')}`;
    });
    return `| ${status} | ${cell(prose(description) + names.join(''))} | ${cell(bodies.join(' or '))} |`;
  });
  return `| status | when | body |\n|---|---|---|\n${lines.join('\n')}\n`;
}

function operationText(operation: PlacedOperation, document: ApiDocument): string {
  const { method, path, summary, description, requestBody } = operation;
  const { taken, refused } = answersOf(operation);
  const rows = parameterRows(operation);
  return [
    `### ${summary}\n`,
    `\`${method.toUpperCase()} ${path}\` · needs ${keyOf(operation)}\n`,
    `${prose(description)}\n`,
    fence(commandOf(operation, document), 'sh'),
    ...(rows.length === 0 ? [] : [table(rows, 'parameter')]),
    ...(requestBody === undefined
      ? []
      : [
          '#### Body\n',
          `${prose(requestBody.description)}\n`,
          ...Object.entries(requestBody.content).map(contentText),
        ]),
    ...taken.map(responseText),
    ...(refused.length === 0 ? [] : ['#### Refusals\n', refusalsText(refused)]),
  ].join('\n');
}

export function apiReference(document: ApiDocument): string {
  const { info, servers, components } = document;
  const schemes = Object.values(components.securitySchemes);
  return [
    `# ${info.title}\n`,
    `${prose(info.description)}\n`,
    `Version ${info.version}, served at ${servers.map(({ url }) => `\`${url}\``).join(', ')}. ` +
      'The same for machines: [openapi.json](/openapi.json).\n',
    `${schemes.map(({ description }) => `- ${description}`).join('\n')}\n`,
    ...groupsOf(document).flatMap(({ name, description, operations }) => [
      `## ${name}\n`,
      `${prose(description)}\n`,
      ...operations.map((operation) => operationText(operation, document)),
    ]),
    '## Schemas\n',
    ...Object.entries(components.schemas).map(([name, schema]) => {
      const rows = rowsOf(schema);
      const members = rows.length === 0 ? '' : `\n${table(rows, 'member')}`;
      return `### ${name}\n\n${prose(schema.description ?? '')}\n${members}`;
    }),
  ].join('\n');
}
