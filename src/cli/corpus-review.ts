/** The changes that a refresh of the corpus makes: the rules, their class, when they run, and overrides. */
import { type Config, readConfig } from '../config/config.ts';
import { createDatabase } from '../db/database.ts';
import { connectEmbedded } from '../db/embedded/connect.ts';
import { listUnusableOverrides, type UnusableOverride } from '../db/findings/rule-settings.ts';
import type { Classification, KeptRule } from '../engine/rules/classification.ts';
import { paint } from '../terminal/output.ts';
import { activationOf } from './verdict.ts';

interface RuleNote {
  readonly id: string;
  readonly status: KeptRule['status'];
  readonly support: KeptRule['support'];
  readonly runs: string;
}

export interface RuleReview {
  readonly added: readonly RuleNote[];
  readonly removed: readonly RuleNote[];
  /** of another class, or run at other times */
  readonly changed: readonly { readonly from: RuleNote; readonly to: RuleNote }[];
}

function noteOf(id: string, { status, support }: KeptRule): RuleNote {
  return { id, status, support, runs: activationOf({ status, support }) };
}

export function reviewOf(before: Classification, after: Classification): RuleReview {
  const notesOf = ({ rules }: Classification) =>
    new Map(Object.entries(rules).map(([id, kept]) => [id, noteOf(id, kept)]));
  const old = notesOf(before);
  const now = notesOf(after);
  return {
    added: [...now.values()].filter(({ id }) => !old.has(id)),
    removed: [...old.values()].filter(({ id }) => !now.has(id)),
    changed: [...now.values()].flatMap((to) => {
      const from = old.get(to.id);
      const isSame =
        from === undefined || (from.support === to.support && from.status === to.status);
      return isSame ? [] : [{ from, to }];
    }),
  };
}

/** Overrides of rules that are gone or can no longer run; or why they were not looked for. */
export type OverrideReview =
  | { readonly checked: true; readonly unusable: readonly UnusableOverride[] }
  | { readonly checked: false; readonly why: string };

const OVERRIDES_MAX = 1000;

/**
 * Looks for overrides in the database of the settings, if it can be reached. Starts no server and
 * changes nothing.
 */
export async function reviewOverrides(after: Classification): Promise<OverrideReview> {
  const runnable = Object.entries(after.rules)
    .filter(([, kept]) => activationOf(kept) !== 'never')
    .map(([id]) => id);
  try {
    const url = await runningDatabase(readConfig(process.env));
    if (url === null) return { checked: false, why: 'no server runs here; set DATABASE_URL' };
    const database = createDatabase(url, 1, { connectionLost: () => {} });
    try {
      const unusable = await listUnusableOverrides(database, runnable, OVERRIDES_MAX);
      return { checked: true, unusable };
    } finally {
      await database.end();
    }
  } catch (error) {
    return { checked: false, why: error instanceof Error ? error.message : String(error) };
  }
}

async function runningDatabase({ databaseUrl, dataDir }: Config): Promise<string | null> {
  return databaseUrl ?? (await connectEmbedded(dataDir));
}

function shown({ status, support, runs }: RuleNote): string {
  return `${status}, ${support}, runs ${runs}`;
}

export function reviewLines(rules: RuleReview, overrides: OverrideReview): string[] {
  const { added, removed, changed } = rules;
  return [
    `rules      ${added.length} added, ${removed.length} removed, ${changed.length} of another class or status`,
    ...added.map((one) => `  ${paint.green('+')} ${one.id}  ${shown(one)}`),
    ...removed.map((one) => `  ${paint.red('-')} ${one.id}  ${shown(one)}`),
    ...changed.map(
      ({ from, to }) => `  ${paint.yellow('~')} ${to.id}  ${shown(from)} → ${shown(to)}`,
    ),
    ...overrideLines(overrides),
  ];
}

function overrideLines(overrides: OverrideReview): string[] {
  if (!overrides.checked) return [`overrides  not checked: ${overrides.why}`];
  const { unusable } = overrides;
  if (unusable.length === 0) return ['overrides  all are of rules that can run'];
  return [
    `overrides  ${unusable.length} of rules that are gone or cannot run`,
    ...unusable.map(
      ({ workspace, ruleId, enabled }) =>
        `  ${paint.yellow('!')} ${ruleId}  ${enabled ? 'on' : 'off'} in workspace "${workspace}"`,
    ),
  ];
}
