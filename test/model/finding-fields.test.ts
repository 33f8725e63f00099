/** Every filter of the table, and every name of a run, is offered wherever findings are read. */
import { Command } from 'commander';
import { expect, test } from 'vitest';

import { addFindingCommands } from '../../src/cli/findings/finding-commands.ts';
import { findingsQuery } from '../../src/http/api/findings/finding-routes.ts';
import { finding } from '../../src/http/api/findings/finding-schema.ts';
import { runsQuery } from '../../src/http/api/runs/run-routes.ts';
import { runItem } from '../../src/http/api/runs/run-schema.ts';
import { FINDING_FILTERS, type FilterRow } from '../../src/model/finding-fields.ts';
import { RUN_NAME_ROWS } from '../../src/model/runs.ts';
import { findingFilters, NO_NAMES } from '../../src/web/app/findings/finding-filters.ts';

const program = new Command();
addFindingCommands(program);
const list = program.commands[0]?.commands.find((one) => one.name() === 'list');
const help = list?.helpInformation() ?? '';
const FILTERS = Object.entries<FilterRow>(FINDING_FILTERS);

test.each(FILTERS)('the filter %s is in API, form and help', (name, { describe, option }) => {
  expect(findingsQuery.shape).toHaveProperty(name);
  expect(describe).not.toBe('');
  // A field that only links set is there once it is set.
  expect(findingFilters(`${name}=x`, NO_NAMES).text).toContain(`name="${name}"`);
  if (option !== undefined) expect(help).toContain(option[0]);
});

test.each(RUN_NAME_ROWS)('the name $name is a filter and a member', ({ name }) => {
  expect(Object.keys(FINDING_FILTERS)).toContain(name);
  expect(runsQuery.shape).toHaveProperty(name);
  expect(finding.shape).toHaveProperty(name);
  expect(runItem.shape).toHaveProperty(name);
});
