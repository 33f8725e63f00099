/**
 * The parts of the dashboard and the read API: the store, the reads of runs, the documentation; and
 * the same reads from a replica.
 */
import type { Config } from '../../config/config.ts';
import type { ReadChoice } from '../../db/replica/read-choice.ts';
import { createReads, type Store, withReads } from '../../db/store.ts';
import type { Catalog } from '../../engine/rules/catalog.ts';
import { createRuleBook } from '../../engine/rules/rule-book.ts';
import type { ExportSlots } from '../../http/api/findings/ocsf-export.ts';
import { createApiDocument } from '../../http/api/openapi/openapi.ts';
import type { RuleReader } from '../../http/api/rules/rule-routes.ts';
import type { AppDependencies } from '../../http/dashboard/app-routes.ts';
import { createProviders } from '../../http/dashboard/sign-in/configured-providers.ts';
import type { Turns } from '../../http/limits/turns.ts';
import type { ReportBlock } from '../../reads/read-records.ts';
import { createRunExporter } from '../../reads/run-export.ts';
import { createOutliner } from '../../reads/run-outlines.ts';
import { RunSteps } from '../../reads/run-steps.ts';
import { createTextSearch } from '../../reads/text-search.ts';
import type { ApiDocument } from '../../web/docs/api-document.ts';
import { loadDocumentation, pageAssets, pathsOf } from '../documents.ts';
import { programVersion } from '../program-version.ts';
import { runTimesOf } from '../run-times.ts';

/** The rules of the pinned corpus, with what is set and recorded of them. */
export function ruleReader(catalog: Catalog, store: Store): RuleReader {
  const { ruleSettings: settings, ruleRecords: records, ruleRecord: record } = store;
  return { ...createRuleBook(catalog), settings, records, record };
}

/** Everything the routes under `/app` work with. */
export function dashboardOf(
  { baseUrl, observeUrl, trustedProxyHops, oauthClients }: Config,
  store: Store,
  parts: Pick<
    AppDependencies,
    | 'rules'
    | 'runs'
    | 'findSteps'
    | 'searchSteps'
    | 'look'
    | 'sendGuides'
    | 'ocsf'
    | 'exportSlots'
    | 'cookies'
    | 'changedHeaders'
    | 'replicaState'
    | 'alertSender'
    | 'nowMs'
    | 'events'
    | 'sessionLimiter'
    | 'signInLimiter'
  >,
): AppDependencies {
  return {
    ...store,
    ...parts,
    findings: {
      ...store.findings,
      baseUrl,
      references: parts.rules.references,
      nowMs: parts.nowMs,
    },
    baseUrl,
    observeUrl,
    trustedHops: trustedProxyHops,
    providers: createProviders(oauthClients),
  };
}

/** The dashboard as it is without a replica, with what may be read from one. */
export function withReplica(
  config: Config,
  app: AppDependencies,
  store: Store,
  choice: ReadChoice,
  nowMs: () => number,
  ofRuns: RunShares,
): AppDependencies {
  const reads = withReads(store, createReads(choice, nowMs));
  const { ruleRecord, ruleRecords, findRun, overview, triage } = reads;
  const findings = { ...app.findings, ...reads.findings };
  const runs = runsOf(config, reads, choice, ofRuns);
  const rules = { ...app.rules, record: ruleRecord, records: ruleRecords };
  return { ...app, ...runs, findings, rules, findRun, overview, triage };
}

/** Of the process, wherever it reads. */
interface RunShares {
  readonly outlines: Turns;
  readonly turns: Turns;
  readonly slots: ExportSlots;
  readonly report: ReportBlock;
}

/** The reads of runs, from the database of `choice`; they share the turns and slots of the process. */
export function runsOf(config: Config, store: Store, choice: ReadChoice, shared: RunShares) {
  const steps = new RunSteps(choice, shared.report);
  const { find, findSteps, searchSteps } = createOutliner({ steps, turns: shared.outlines });
  const exporter = createRunExporter(choice, steps, shared);
  const search = createTextSearch(choice, { turns: shared.outlines, report: shared.report });
  const runs = { ...store.runs, ...exporter, find, search, times: runTimesOf(config) };
  return { runs, findSteps, searchSteps };
}

/** The documentation, with this server's URL and brand, and the files that pages refer to. */
export function pagesOf(config: Config, book: RuleReader) {
  const assets = pageAssets();
  const version = programVersion();
  let document: ApiDocument | undefined;
  const apiDocument = (): ApiDocument => {
    document ??= createApiDocument({ ...config, version, book });
    return document;
  };
  const { brand, baseUrl } = config;
  const site = { brand, baseUrl, version, assets: pathsOf(assets) };
  return { assets, apiDocument, documentation: loadDocumentation(site, apiDocument, assets) };
}
