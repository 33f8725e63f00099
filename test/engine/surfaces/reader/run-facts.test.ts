import { describe, expect, it } from 'vitest';
import { runFactsOf } from '../../../../src/engine/surfaces/reader/run-facts.ts';
import type { RunState } from '../../../../src/model/runs.ts';
import type { Step } from '../../../../src/model/steps.ts';
import { log, operation, span } from '../../steps.ts';
import { extractSurfaces } from '../extract-surfaces.ts';

function factsOf(steps: readonly Step[], state: RunState = 'completed') {
  const { kinds, texts } = extractSurfaces(steps);
  const surfaces = texts.map(({ surface }) => surface);
  return runFactsOf(steps, kinds, surfaces, state);
}

const agent = (spanId: string, parentSpanId: string | null, parts: Partial<Step> = {}): Step => ({
  ...operation('invoke_agent', parts.attributes ?? {}),
  ...parts,
  attributes: { 'gen_ai.operation.name': 'invoke_agent', ...parts.attributes },
  spanId,
  parentSpanId,
});
const web = (parts: Partial<Step> = {}) => span({ spanId: 'web', name: 'POST /chat', ...parts });

describe('how a run ended', () => {
  it('is what the store says when no agent shows', () => {
    expect(factsOf([web()], 'failed').state).toBe('failed');
    expect(factsOf([web({ statusCode: 2 })], 'completed').state).toBe('completed');
  });

  it('is decided by the topmost agent, not by the server around it', () => {
    expect(factsOf([web(), agent('a', 'web', { statusCode: 2 })]).state).toBe('failed');
    expect(factsOf([web({ statusCode: 2 }), agent('a', 'web')], 'failed').state).toBe('completed');
  });

  it('is not decided by an agent that the topmost one called, at any depth', () => {
    const steps = [
      agent('a', 'web'),
      span({ spanId: 't', parentSpanId: 'a' }),
      agent('b', 't', { statusCode: 2 }),
    ];
    expect(factsOf(steps).state).toBe('completed');
  });

  it('is decided by a workflow that contains the agents', () => {
    const workflow = {
      ...operation('invoke_workflow', { 'error.type': 'timeout' }),
      spanId: 'w',
      parentSpanId: null,
    };
    expect(factsOf([workflow, agent('a', 'w')]).state).toBe('failed');
  });

  it.each([
    [{ 'error.type': 'timeout' }],
    [{ 'genkit:state': 'error' }],
    [{ 'langfuse.observation.level': 'ERROR' }],
    [{ 'gen_ai.task.status': 'failure' }],
    [{ success: 'false' }],
    [{ 'logfire.level_num': 17 }],
  ])('failed by %j', (attributes) => {
    expect(factsOf([agent('a', null, { attributes })]).state).toBe('failed');
  });

  it('stays timed out while a span above the agent may come', () => {
    expect(factsOf([agent('a', 'gone')], 'timed_out').state).toBe('timed_out');
  });

  it('is the agent’s when what is above it is in another process', () => {
    const remote = { hasRemoteParent: true };
    expect(factsOf([agent('a', 'gone', remote)], 'timed_out').state).toBe('completed');
    expect(factsOf([agent('a', 'gone', { ...remote, statusCode: 2 })], 'timed_out').state).toBe(
      'failed',
    );
  });

  it.each([
    { 'langfuse.internal.as_root': true },
    { 'langfuse.internal.is_app_root': 'true' },
    { 'genkit:isRoot': true },
  ])('is decided by the span that its product marks as the root: %o', (attributes) => {
    const steps = [agent('a', null, { statusCode: 2 }), agent('b', 'a', { attributes })];
    expect(factsOf(steps).state).toBe('completed');
  });

  it('is found in spans that are above each other in a circle', () => {
    const steps = [
      span({ spanId: 'x', parentSpanId: 'y' }),
      span({ spanId: 'y', parentSpanId: 'x' }),
      agent('a', 'x', { statusCode: 2 }),
    ];
    expect(factsOf(steps).state).toBe('failed');
  });

  it('is found under a hundred thousand spans', () => {
    const chain = Array.from({ length: 100_000 }, (_, index) =>
      span({ spanId: `s${index}`, parentSpanId: index === 0 ? null : `s${index - 1}` }),
    );
    expect(factsOf([...chain, agent('a', 's99999', { statusCode: 2 })]).state).toBe('failed');
  });
});

describe('who ran', () => {
  it('prefers the topmost agent, then the first step that says it', () => {
    const steps = [
      operation('chat', { 'gen_ai.agent.name': 'helper', 'gen_ai.request.model': 'small' }),
      agent('a', 'web', {
        attributes: {
          'gen_ai.agent.name': 'planner',
          'gen_ai.request.model': 'none',
          'gen_ai.conversation.id': 'c-1',
          'user.id': 'u-1',
        },
      }),
    ];
    expect(factsOf(steps)).toMatchObject({
      agentName: 'planner',
      model: 'small',
      sessionId: 'c-1',
      userId: 'u-1',
    });
  });

  it('takes the agent’s name from the span’s where nothing else says it', () => {
    expect(factsOf([agent('a', null, { name: 'invoke_agent planner' })]).agentName).toBe('planner');
  });

  it('takes more specific keys first, numbers as text, JSON’s quotes off, marks for nothing', () => {
    const attributes = {
      'session.id': 'general',
      'langfuse.session.id': 'specific',
      'user.id': '<REDACTED>',
      'user.account_id': 7,
      'mlflow.llm.model': '"quoted"',
    };
    expect(factsOf([span({ attributes })])).toMatchObject({
      sessionId: 'specific',
      userId: '7',
      model: 'quoted',
      agentName: null,
    });
  });

  it('takes the address of a user whose id is one of an installation', () => {
    const id = 'f'.repeat(64);
    const address = { 'user.email': 'dev@example.com' };
    expect(factsOf([span({ attributes: { 'user.id': id, ...address } })]).userId).toBe(
      'dev@example.com',
    );
    expect(factsOf([span({ attributes: { 'user.id': id } })]).userId).toBe(id);
    expect(factsOf([span({ attributes: { 'user.id': 'u-1', ...address } })]).userId).toBe('u-1');
  });

  it('cuts what is too long to be a name', () => {
    const attributes = { 'session.id': 'x'.repeat(1000) };
    expect(factsOf([span({ attributes })]).sessionId).toHaveLength(256);
  });
});

it('text that is not read is sent all the same: no hint how to send it', () => {
  const step = operation('invoke_agent', { 'acme.ask': 'x' });
  const facts = (unreadTexts: number) =>
    runFactsOf([step], ['agent'], [], 'completed', {
      cutSteps: 0,
      unreadTexts,
      unreadKeys: unreadTexts === 0 ? [] : ['acme.ask'],
      unknownRoles: [],
    });
  expect(facts(0).captureHint).toContain('CAPTURE_MESSAGE_CONTENT');
  expect(facts(1)).toMatchObject({
    captureHint: null,
    unreadTexts: 1,
    unreadKeys: ['acme.ask'],
  });
});

const CUT = { cutSteps: 1, unreadTexts: 0, unreadKeys: [], unknownRoles: [] };

describe('gaps in the text', () => {
  it.each<[string, Step]>([
    ['dropped_by_sender', span({ dropped: 1 })],
    ['stored_elsewhere', span({ attributes: { 'gen_ai.input.messages_ref': 's3://x' } })],
    ['stored_elsewhere', log({ attributes: { body_ref: '/tmp/x' } })],
    ['cut_by_sender', span({ attributes: { a: 'x...[TRUNCATED: original length 20000]' } })],
    ['cut_by_sender', log({ attributes: { body_truncated: 'true' } })],
    ['withheld_by_sender', log({ attributes: { prompt: '<REDACTED>' } })],
    ['withheld_by_sender', span({ events: [{ name: 'e', attributes: { a: '__REDACTED__' } }] })],
    ['withheld_by_sender', span({ attributes: { a: '<truncated due to size exceeding limit>' } })],
    ['withheld_by_sender', span({ attributes: { 'logfire.scrubbed': '[{"path":["a"]}]' } })],
    ['cut_by_sender', span({ attributes: { a: 'x\n\n[TRUNCATED - Content exceeds 60KB limit]' } })],
    ['cut_by_sender', log({ attributes: { a: 'x\n[... telemetry preview truncated ...]' } })],
    ['cut_by_sender', span({ attributes: { 'response.model_output_truncated': true } })],
    ['cut_by_sender', span({ events: [{ name: 'e', attributes: { output_truncated: true } }] })],
    ['cut_by_sender', log({ attributes: { response: 'a', response_truncated: 'true' } })],
    ['withheld_by_sender', log({ attributes: { tool_result_size_bytes: '12' } })],
    ['withheld_by_sender', log({ attributes: { tool_input_size_bytes: 12, tool_input: '' } })],
    ['withheld_by_sender', log({ attributes: { prompt_length: 13 } })],
    ['withheld_by_sender', span({ attributes: { output_length: 5 } })],
    // Codex CLI: the model answered, and no event has the answer.
    ['withheld_by_sender', log({ attributes: { output_token_count: '5' } })],
  ])('%s', (gap, step) => {
    expect(factsOf([span(), step]).textGaps).toEqual([gap]);
  });

  it('cut_by_sender: a value is JSON that ends early', () => {
    expect(runFactsOf([span()], ['llm'], ['step_input'], 'completed', CUT).textGaps).toEqual([
      'cut_by_sender',
    ]);
  });

  it.each<[string, Step[]]>([
    ['on the step', [log({ attributes: { prompt_length: '3', prompt: 'abc' } })]],
    [
      'on another step: raw bodies contain the results',
      [
        log({ attributes: { tool_result_size_bytes: '12' } }),
        log({ attributes: { body: '{"messages":[]}' } }),
      ],
    ],
    [
      'in an event of its span',
      [
        log({ attributes: { tool_result_size_bytes: '12' } }),
        span({ events: [{ name: 'tool.output', attributes: { output: 'a.txt' } }] }),
      ],
    ],
    ['nowhere, because it is empty', [log({ attributes: { tool_result_size_bytes: '0' } })]],
    ['whole', [log({ attributes: { output: 'a', output_truncated: 'false' } })]],
  ])('are none where the text of a size is %s', (_where, steps) => {
    expect(factsOf(steps).textGaps).toEqual([]);
  });

  it('are none where all is there', () => {
    expect(factsOf([span({ attributes: { a: 'all of it' } })]).textGaps).toEqual([]);
  });
});
