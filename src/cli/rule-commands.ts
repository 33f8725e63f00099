/**
 * `sluice rules …`: the rules of a workspace, on the local database or a remote server, as the API has them. Without
 * `--workspace` and a server, the rules of the corpus alone, which needs no database. Rules are switched in the
 * dashboard only.
 */
import { type Command, Option } from 'commander';
import { createRuleBook } from '../engine/rules/rule-book.ts';
import { OperatorError } from '../errors.ts';
import { rulesQuery, toRule, toRulePage } from '../http/api/rules/rule-routes.ts';
import { rule, rulePage } from '../http/api/rules/rule-schema.ts';
import { parseInput } from '../http/transport/input.ts';
import { pinnedCorpus } from '../main/corpus-location.ts';
import { RULE_ORDERS, type RuleOrder, WORKSPACE_ORDERS } from '../model/rule-order.ts';
import {
  allRules,
  CATEGORIES,
  MATURITIES,
  RULE_STATES,
  RULE_STATUSES,
  type RuleSettings,
  SUPPORTS,
} from '../model/rules.ts';
import { loadKeptCatalog } from '../pool/kept-catalog.ts';
import { plain } from '../terminal/output.ts';
import { corpusLine, stateLines } from '../terminal/rule-counts.ts';
import { answer } from './answer.ts';
import { type QueryOptions, queryOf, ruleIdArgument, withExamples } from './command.ts';
import { addPreviewCommand } from './preview/preview-command.ts';
import {
  asOperatorError,
  atHome,
  type CommandPlace,
  named,
  parts,
  remotePlace,
} from './remote/calls.ts';
import { chooseServer, serverOption } from './remote/logins.ts';
import { corpusItem, corpusRule, describeRule, describeState, ruleTable } from './rule-text.ts';

/** The most that a server answers at once. */
const RULES_OF_PAGE = 500;
/** Far above any corpus; a server that counts wrongly must not keep a command busy. */
const PAGES_MAX = 100;

const NO_DECISIONS: RuleSettings = { experimental: false, overrides: new Map() };

/** Calls one of both: with a place, or without one for the corpus alone. */
async function withRules(
  options: QueryOptions,
  inPlace: (place: CommandPlace) => Promise<void>,
  alone: () => void,
): Promise<void> {
  const login = chooseServer(options);
  if (login !== null) await inPlace(remotePlace(login));
  else if (options.workspace !== undefined) await atHome(named(options.workspace), inPlace);
  else alone();
}

const bookOfCorpus = () => createRuleBook(loadKeptCatalog(pinnedCorpus()));

function listOfCorpus({ state, ...options }: QueryOptions): void {
  if (state !== undefined) {
    throw new OperatorError('--state needs a workspace: add --workspace');
  }
  if (WORKSPACE_ORDERS.includes(options.sort as RuleOrder)) {
    throw new OperatorError(`--sort ${options.sort} needs a workspace: add --workspace`);
  }
  const book = bookOfCorpus();
  let query: ReturnType<typeof rulesQuery.parse>;
  try {
    query = parseInput(rulesQuery, queryOf(options), 'bad_query');
  } catch (error) {
    throw asOperatorError(error);
  }
  const all = { ...query, page: 1, per_page: book.rules.length };
  const { snapshot, corpus_counts, total, ...page } = toRulePage(all, NO_DECISIONS, book);
  const rules = page.rules.map((one) => corpusItem.parse(one));
  answer(options, { snapshot, corpus_counts, rules }, () =>
    [
      ruleTable(rules, null),
      '',
      `${total} of ${book.rules.length} rules listed`,
      corpusLine(snapshot, corpus_counts),
    ].join('\n'),
  );
}

async function listOfPlace(
  { workspace, call }: CommandPlace,
  options: QueryOptions,
): Promise<void> {
  const read = async (page: number) => {
    const query = { ...queryOf(options), page: `${page}`, per_page: `${RULES_OF_PAGE}` };
    return parts(rulePage, await call('/rules', { query }));
  };
  const { snapshot, counts, corpus_counts, experimental, ...first } = await read(1);
  const rules = [...first.rules];
  for (let page = 2; page <= Math.min(first.total_pages, PAGES_MAX); page += 1) {
    rules.push(...(await read(page)).rules);
  }
  answer(options, { snapshot, workspace, experimental, counts, corpus_counts, rules }, () =>
    [
      ruleTable(rules, workspace),
      '',
      `${rules.length} of ${allRules(counts)} rules listed`,
      ...stateLines(counts),
      plain(corpusLine(snapshot, corpus_counts)),
    ].join('\n'),
  );
}

async function list(options: QueryOptions): Promise<void> {
  await withRules(
    options,
    (place) => listOfPlace(place, options),
    () => listOfCorpus(options),
  );
}

async function show(id: string, options: QueryOptions): Promise<void> {
  await withRules(
    options,
    async ({ workspace, call }) => {
      const body = await call(`/rules/${id}`);
      answer(options, body, () => {
        const one = parts(rule, body);
        return [describeRule(one), describeState(workspace, one.state)].join('\n');
      });
    },
    () => {
      const book = bookOfCorpus();
      const found = book.find(id);
      if (found === null) {
        throw new OperatorError(
          `Corpus ${book.snapshot.version} has no rule ${id}: see sluice rules list`,
        );
      }
      const one = corpusRule.parse(toRule(found, NO_DECISIONS, book));
      answer(options, one, () => describeRule(one));
    },
  );
}

export function addRuleCommands(program: Command): void {
  const rules = program.command('rules').description('rules of the corpus');
  withExamples(
    rules
      .command('list')
      .description('list rules, and whether they can run')
      .addOption(new Option('--status <status>').choices(RULE_STATUSES))
      .addOption(new Option('--support <support>').choices(SUPPORTS))
      .addOption(new Option('--category <category>').choices(CATEGORIES))
      .addOption(new Option('--maturity <maturity>', "the authors' word").choices(MATURITIES))
      .option(
        '--reference <id>',
        'only rules that refer to this, for example AML.T0051, LLM01 or CVE-2025-53773',
      )
      .addOption(
        new Option(
          '--sort <order>',
          'noise: most false positives first; findings and others need --workspace',
        )
          .choices(RULE_ORDERS)
          .default('id'),
      )
      .addOption(
        new Option('--state <state>', 'state in the workspace; needs --workspace').choices(
          RULE_STATES,
        ),
      )
      .option('--workspace <slug>', 'show which rules run in this workspace now')
      .addOption(serverOption()),
    'rules list --status stable --support degraded',
    'rules list --workspace default --state off_by_override',
    'rules list --sort noise',
    'rules list --reference AML.T0051',
  ).action(list);
  withExamples(
    rules
      .command('show')
      .description('show one rule with its conditions')
      .argument('<id>', 'rule id, for example ATR-2026-00001', ruleIdArgument)
      .option('--workspace <slug>', 'show whether it runs in this workspace now')
      .addOption(serverOption()),
    'rules show ATR-2026-00001',
  ).action(show);
  addPreviewCommand(rules);
}
