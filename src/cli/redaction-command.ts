/** `sluice workspace redact-ingest`: what is redacted before telemetry is stored. */
import { Argument, type Command } from 'commander';

import { COMMAND_LINE } from '../db/people/audit.ts';
import { readStoredRedaction, setStoredRedaction } from '../db/people/redaction-writes.ts';
import { findWorkspace } from '../db/people/workspaces.ts';
import { redactionFaults } from '../engine/redaction/redactor.ts';
import { OperatorError } from '../errors.ts';
import {
  LIBRARY,
  type NamedPattern,
  type RedactionSettings,
} from '../model/redaction/redaction.ts';
import { answer, type OutputOptions } from './answer.ts';
import { withDatabase } from './with-database.ts';

const HELP = `
What the patterns match in telemetry is replaced by a mark before it is stored:
[redacted:NAME:DIGEST]. Rules match the redacted text. Telemetry that is stored already stays.
  on    redacts by the patterns of the library, or some of them, and by others
  off   stores telemetry as it is sent
  show  prints the patterns in use
The library: ${LIBRARY.map(({ name }) => name).join(', ')}

Examples:
  sluice workspace redact-ingest on
  sluice workspace redact-ingest on --library email,jwt --pattern 'customer=\\bC-\\d{8}\\b'
  sluice workspace redact-ingest off --workspace support`;

interface Options extends OutputOptions {
  readonly workspace?: string;
  readonly library?: string;
  readonly pattern?: readonly string[];
}

function settingsOf({ library = 'all', pattern = [] }: Options): RedactionSettings {
  const names = library === 'none' ? [] : library.split(',').map((name) => name.trim());
  const patterns = pattern.map((text): NamedPattern => {
    const [name = '', ...rest] = text.split('=');
    if (rest.length === 0) throw new OperatorError(`--pattern takes NAME=PATTERN, not "${name}"`);
    return { name, pattern: rest.join('=') };
  });
  const all = LIBRARY.map(({ name }) => name);
  const settings = { library: library === 'all' ? all : names, patterns };
  const faults = redactionFaults(settings);
  if (faults.length > 0) throw new OperatorError(faults.join('\n'));
  return settings;
}

function textOf(slug: string, settings: RedactionSettings | null): string {
  if (settings === null) return `Workspace "${slug}" stores telemetry as it is sent.`;
  return [
    `Workspace "${slug}" redacts telemetry before it is stored.`,
    `Library: ${settings.library.join(', ') || 'none'}`,
    ...settings.patterns.map(({ name, pattern }) => `${name}: ${pattern}`),
  ].join('\n');
}

async function redactIngest(state: 'on' | 'off' | 'show', options: Options): Promise<void> {
  const next = state === 'on' ? settingsOf(options) : null;
  await withDatabase(async ({ database }) => {
    const { id, slug } = await findWorkspace(database, options.workspace ?? null);
    if (state !== 'show') await setStoredRedaction(database, id, next, COMMAND_LINE);
    const settings = state === 'show' ? await readStoredRedaction(database, id) : next;
    answer(options, { workspace: slug, redaction: settings }, () => textOf(slug, settings));
  });
}

export function addRedactionCommand(workspace: Command): void {
  workspace
    .command('redact-ingest')
    .description('redact telemetry of a workspace before it is stored')
    .addArgument(new Argument('<state>', 'on, off or show').choices(['on', 'off', 'show']))
    .option('--workspace <slug>', 'workspace; can be omitted if there is only one')
    .option('--library <names>', 'patterns of the library, with commas; all or none')
    .option(
      '--pattern <name=pattern>',
      'an RE2 pattern and its name; can be repeated',
      (text: string, before: readonly string[] = []) => [...before, text],
    )
    .option('--json', 'print JSON')
    .addHelpText('after', HELP)
    .action(redactIngest);
}
