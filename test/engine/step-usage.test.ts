/** Tokens and cost of steps, and the sums of a run, in which nothing is counted twice. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { STRUCTURE_UNITS_MAX, totalUsage, usageOf } from '../../src/engine/step-usage.ts';
import type { JsonObject } from '../../src/model/json.ts';
import type { Step } from '../../src/model/steps.ts';
import { NO_USAGE } from '../../src/model/usage.ts';
import { log, span } from './steps.ts';

const step = (spanId: string, parentSpanId: string | null, attributes: JsonObject): Step =>
  span({ spanId, parentSpanId, attributes });
const tokens = (input: number): JsonObject => ({ 'gen_ai.usage.input_tokens': input });

describe('of a step', () => {
  test.each<[string, JsonObject, Partial<typeof NO_USAGE>]>([
    ['OpenTelemetry', tokens(12), { inputTokens: 12 }],
    ['the deprecated names', { 'gen_ai.usage.completion_tokens': 7 }, { outputTokens: 7 }],
    [
      'OpenInference',
      { 'llm.token_count.prompt': 3, 'llm.cost.total': 0.5 },
      { inputTokens: 3, costUsd: 0.5 },
    ],
    ['a text', { 'ai.usage.promptTokens': '31' }, { inputTokens: 31 }],
    ['a member of JSON', { 'mlflow.chat.tokenUsage': '{"input_tokens": 4}' }, { inputTokens: 4 }],
    [
      'a member of a structure',
      { 'langfuse.observation.cost_details': { total: 0.01 } },
      { costUsd: 0.01 },
    ],
    [
      'the first that is a number',
      { ...tokens(5), 'llm.token_count.prompt': 9 },
      { inputTokens: 5 },
    ],
    [
      'what OpenTelemetry counts apart',
      {
        ...tokens(90),
        'gen_ai.usage.cache_read.input_tokens': 60,
        'gen_ai.usage.cache_creation.input_tokens': 20,
        'gen_ai.usage.reasoning.output_tokens': 5,
      },
      { inputTokens: 90, cacheReadTokens: 60, cacheWriteTokens: 20, reasoningTokens: 5 },
    ],
    [
      'all members of one structure',
      {
        'langfuse.observation.usage_details':
          '{"input": 9, "output": 4, "input_cached_tokens": 6, "output_reasoning_tokens": 3}',
      },
      { inputTokens: 9, outputTokens: 4, cacheReadTokens: 6, reasoningTokens: 3 },
    ],
    [
      'Claude Code',
      { input_tokens: '3', cache_read_tokens: '900', cache_creation_tokens: '80' },
      { inputTokens: 3, cacheReadTokens: 900, cacheWriteTokens: 80 },
    ],
    [
      'Codex and Gemini CLI',
      { cached_token_count: 4, reasoning_token_count: 2, thoughts_token_count: 1 },
      { cacheReadTokens: 4, reasoningTokens: 2 },
    ],
    [
      'an earlier row, whichever is sent first',
      { input_tokens: 8, ...tokens(5) },
      { inputTokens: 5 },
    ],
    ['nothing that is no amount', { ...tokens(-1), cost_usd: 'free', input_tokens: null }, {}],
  ])('%s', (_, attributes, usage) => {
    expect(usageOf({ attributes })).toEqual({ ...NO_USAGE, ...usage });
  });
});

test.each([
  [STRUCTURE_UNITS_MAX, 4],
  [STRUCTURE_UNITS_MAX + 1, null],
])('of a step with a structure of %i units: %s tokens', (units, inputTokens) => {
  const structure = '{"input_tokens": 4}'.padEnd(units);
  const attributes = { 'mlflow.chat.tokenUsage': structure };
  expect(usageOf({ attributes })).toEqual({ ...NO_USAGE, inputTokens });
});

describe('of a run', () => {
  test('is the sum of its calls', () => {
    const steps = [step('1', null, {}), step('2', '1', tokens(10)), step('3', '1', tokens(5))];
    expect(totalUsage(steps)).toEqual({ ...NO_USAGE, inputTokens: 15 });
  });

  test('leaves out what a step above repeats, by each amount', () => {
    const all = { ...tokens(15), 'gen_ai.usage.cost': 0.2 };
    const steps = [step('1', null, all), step('2', '1', {}), step('3', '2', tokens(10))];
    expect(totalUsage(steps)).toEqual({ ...NO_USAGE, inputTokens: 10, costUsd: 0.2 });
  });

  test('leaves out a span whose log records report the same', () => {
    const record = log({ spanId: '1', attributes: { input_tokens: 8 } });
    expect(totalUsage([step('1', null, tokens(8)), record])).toEqual({
      ...NO_USAGE,
      inputTokens: 8,
    });
  });

  test('is nothing where nothing was sent', () => {
    expect(totalUsage([step('1', null, {})])).toEqual(NO_USAGE);
  });

  test('of any parents, cycles too, is at most the sum of all', () => {
    const id = fc.constantFrom('1', '2', '3', '4');
    const steps = fc.array(fc.tuple(id, id, fc.nat(100)), { maxLength: 8 });
    fc.assert(
      fc.property(steps, (drawn) => {
        const own = drawn.map(([one, parent, amount]) => step(one, parent, tokens(amount)));
        const sum = drawn.reduce((all, [, , amount]) => all + amount, 0);
        expect(totalUsage(own).inputTokens ?? 0).toBeLessThanOrEqual(sum);
      }),
    );
  });
});
