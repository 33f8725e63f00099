/** The read API, as `/openapi.json` describes it. */
import { type filterQuery, findingsQuery } from '../findings/finding-routes.ts';
import { finding, findingPage } from '../findings/finding-schema.ts';
import { exportQuery, NDJSON_TYPE } from '../findings/ocsf-export.ts';
import { ocsfEvent } from '../findings/ocsf-schema.ts';
import { providers } from '../open/open-schema.ts';
import { TRACE_ID } from '../otlp/otlp-examples.ts';
import { rulesQuery } from '../rules/rule-routes.ts';
import { rule, ruleId, rulePage, ruleSettings } from '../rules/rule-schema.ts';
import { runsQuery } from '../runs/run-routes.ts';
import { run, runPage } from '../runs/run-schema.ts';
import { hex16 } from './component.ts';
import type { ApiSettings, Operation, ParameterEntry } from './operation.ts';
import { findingExamples, ruleExamples, runExamples } from './read-examples.ts';
import { badQuery, found, keyAnswers, notFound } from './shared-answers.ts';

const RULES = 'Threat rules';
const FINDINGS = 'Risk findings';
const RUNS = 'Runs';

const read = { method: 'GET', auth: 'workspace', hosts: ['base'] } as const;
const refusals = keyAnswers('problem', 'workspace');

const id = (name: string, what: string, example: string): ParameterEntry => ({
  name,
  in: 'path',
  description: `${what} Upper case and dashes are taken as well.`,
  schema: hex16(what),
  example,
});

function ruleOperations(settings: ApiSettings): Operation[] {
  const examples = ruleExamples(settings);
  return [
    {
      ...read,
      path: '/platform/v1/atr/rules',
      operationId: 'listRules',
      tag: RULES,
      summary: 'List the rules of the corpus',
      description:
        'Every rule with what this engine makes of it and whether it runs for this workspace, ' +
        'and the live counts. What runs can be changed in the dashboard only.',
      query: rulesQuery,
      queryExamples: {
        status: 'stable',
        support: 'as_written',
        category: 'prompt-injection',
        enabled: 'true',
        q: 'credential',
        page: '1',
        per_page: '2',
      },
      responses: {
        ...found('A page of rules.', rulePage, examples.list),
        ...badQuery('per_page', 'Too big: expected number to be <=500'),
        ...refusals,
      },
    },
    {
      ...read,
      path: '/platform/v1/atr/rules/{ruleId}',
      operationId: 'getRule',
      tag: RULES,
      summary: 'Read one rule in full',
      description: 'With its conditions, and why those that cannot run here cannot.',
      parameters: [
        {
          name: 'ruleId',
          in: 'path',
          description: 'Id of a rule of the corpus.',
          schema: ruleId,
          example: examples.ruleId,
        },
      ],
      responses: {
        ...found('The rule.', rule, examples.one),
        ...notFound('The snapshot has no such rule.'),
        ...refusals,
      },
    },
    {
      ...read,
      path: '/platform/v1/atr/settings',
      operationId: 'getRuleSettings',
      tag: RULES,
      summary: 'Read the rule settings',
      description: 'The switch for the experimental tier, and the live counts.',
      responses: {
        ...found('The settings.', ruleSettings, examples.settings),
        ...refusals,
      },
    },
  ];
}

const filterExamples: Readonly<Record<keyof typeof filterQuery.shape, string>> = {
  severity: 'high',
  category: 'atr_prompt_injection',
  rule_id: 'ATR-2026-00001',
  run_id: TRACE_ID,
  since: '2025-11-01',
  until: '2125-11-01T00:00:00+01:00',
};

function findingOperations(settings: ApiSettings): Operation[] {
  const examples = findingExamples(settings);
  return [
    {
      ...read,
      path: '/platform/v1/risk-findings',
      operationId: 'listFindings',
      tag: FINDINGS,
      summary: 'List the findings',
      description:
        'The newest first. A finding appears a few minutes after its run has ended. It is ' +
        'advisory: nothing is blocked.',
      query: findingsQuery,
      queryExamples: { ...filterExamples, limit: '50' },
      responses: {
        ...found('A page of findings.', findingPage, examples.list),
        ...badQuery('limit', 'Too big: expected number to be <=500'),
        ...refusals,
      },
    },
    {
      ...read,
      path: '/platform/v1/risk-findings/ocsf',
      operationId: 'exportFindings',
      tag: FINDINGS,
      summary: 'Export the findings as OCSF events',
      description:
        'One event per line, the oldest first, never an excerpt. Ask for what comes `after` the ' +
        'last finding you have, and you get every finding once, wherever a transfer broke.',
      query: exportQuery,
      queryExamples: filterExamples,
      responses: {
        200: {
          description: 'Newline-delimited JSON: each line is one event of this form.',
          contents: [{ mediaType: NDJSON_TYPE, schema: ocsfEvent, examples: examples.event }],
        },
        ...badQuery('after', 'must be a finding of this workspace'),
        ...refusals,
      },
    },
    {
      ...read,
      path: '/platform/v1/risk-findings/{findingId}',
      operationId: 'getFinding',
      tag: FINDINGS,
      summary: 'Read one finding',
      description: 'As the list has it.',
      parameters: [id('findingId', 'Id of a finding.', examples.findingId)],
      responses: {
        ...found('The finding.', finding, examples.one),
        ...notFound('This workspace has no such finding.'),
        ...refusals,
      },
    },
  ];
}

function runOperations(settings: ApiSettings): Operation[] {
  const examples = runExamples(settings);
  return [
    {
      ...read,
      path: '/platform/v1/runs',
      operationId: 'listRuns',
      tag: RUNS,
      summary: 'List the runs',
      description: 'The newest first, by the arrival of their first step.',
      query: runsQuery,
      queryExamples: {
        state: 'completed',
        evaluation: 'evaluated',
        service: 'shop',
        agent: 'shop',
        model: 'demo-model-1',
        session_id: 's-1',
        user_id: 'u-1',
        text_incomplete: 'false',
        has_findings: 'true',
        since: '2025-11-01',
        until: '2125-11-01T00:00:00+01:00',
        limit: '50',
      },
      responses: {
        ...found('A page of runs.', runPage, examples.list),
        ...badQuery('limit', 'Too big: expected number to be <=500'),
        ...refusals,
      },
    },
    {
      ...read,
      path: '/platform/v1/runs/{runId}',
      operationId: 'getRun',
      tag: RUNS,
      summary: 'Read one run',
      description:
        'With an outline of its first steps: how much text on which surface, not the text.',
      parameters: [id('runId', 'Id of a run.', TRACE_ID)],
      responses: {
        ...found('The run.', run, examples.one),
        ...notFound('This workspace has no such run.'),
        ...refusals,
      },
    },
  ];
}

const PROVIDERS: Operation = {
  ...read,
  auth: 'any',
  path: '/api/v1/auth/oauth/providers',
  operationId: 'listOAuthProviders',
  tag: 'Setup and probes',
  summary: 'List the OAuth providers',
  description: 'Those that this deployment has a client id and a client secret for.',
  responses: {
    ...found('The providers.', providers, [
      {
        name: 'two_providers',
        summary: 'Both are set up.',
        value: { providers: ['github', 'google'], total: 2 },
      },
    ]),
    ...keyAnswers('problem', 'any'),
  },
};

export function readOperations(settings: ApiSettings): Operation[] {
  return [
    ...ruleOperations(settings),
    ...findingOperations(settings),
    ...runOperations(settings),
    PROVIDERS,
  ];
}
