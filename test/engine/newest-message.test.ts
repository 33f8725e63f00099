/**
 * The newest message of a conversation that is longer than the cap, in the shape of every kind of
 * convention: a list in JSON, one attribute per member, events, a list in a request.
 */
import { describe, expect, it } from 'vitest';
import { evaluateRun } from '../../src/engine/evaluate.ts';
import { createMatcher } from '../../src/engine/matcher/matcher.ts';
import { createFastMatcher } from '../../src/engine/prefilter/fast-matcher.ts';
import type { Step } from '../../src/model/steps.ts';
import { log, operation, span } from './steps.ts';
import { tinyRule } from './tiny-rules.ts';

const settings = { surfaceCapBytes: 65_536, excerptChars: 40 };
const rules = [
  tinyRule({ conditions: [['user_input', '\\bneedle\\b']] }),
  tinyRule({ conditions: [['tool_response', '\\bneedle\\b']] }),
  tinyRule({ conditions: [['agent_output', '\\bneedle\\b']] }),
];
const [plain, fast] = [createMatcher(rules), createFastMatcher(rules)];

function evaluate(...steps: Step[]) {
  const evaluation = evaluateRun(steps, plain, () => true, settings);
  expect(evaluateRun(steps, fast, () => true, settings)).toEqual(evaluation);
  return evaluation;
}

const found = (...steps: Step[]) => evaluate(...steps).findings.map(({ surface }) => surface);

interface Said {
  readonly role: string;
  readonly content: string;
}

const EARLIER: Said[] = Array.from({ length: 80 }, (_, at) => ({
  role: at % 2 === 0 ? 'user' : 'assistant',
  content: `message ${at}: ${'what was said before. '.repeat(100)}`,
}));
const NEWEST: Said = { role: 'user', content: 'and now a needle' };
const CONVERSATION = [...EARLIER, NEWEST];

const withParts = (said: readonly Said[]) =>
  JSON.stringify(said.map(({ role, content }) => ({ role, parts: [{ type: 'text', content }] })));
const flattened = (said: readonly Said[], prefix: string, inner = '') =>
  Object.fromEntries(
    said.flatMap(({ role, content }, at) => [
      [`${prefix}.${at}.${inner}role`, role],
      [`${prefix}.${at}.${inner}content`, content],
    ]),
  );
const eventsOf = (said: readonly Said[]) =>
  said.map(({ role, content }) => ({
    name: `gen_ai.${role}.message`,
    timeUnixNano: '1',
    attributes: { content, role },
  }));

const SHAPES: [string, (said: readonly Said[]) => Step][] = [
  [
    'gen_ai.input.messages',
    (said) => operation('chat', { 'gen_ai.input.messages': withParts(said) }),
  ],
  [
    'indexed attributes of OpenInference',
    (said) =>
      span({
        attributes: {
          'openinference.span.kind': 'LLM',
          ...flattened(said, 'llm.input_messages', 'message.'),
        },
      }),
  ],
  [
    'indexed attributes of OpenLLMetry',
    (said) =>
      span({ attributes: { 'llm.request.type': 'chat', ...flattened(said, 'gen_ai.prompt') } }),
  ],
  ['span events', (said) => ({ ...operation('chat'), events: eventsOf(said) })],
  [
    'ai.prompt.messages',
    (said) =>
      span({
        attributes: {
          'operation.name': 'ai.generateText.doGenerate',
          'ai.operationId': 'ai.generateText.doGenerate',
          'ai.prompt.messages': JSON.stringify(said),
        },
      }),
  ],
  [
    'a request with messages',
    (said) =>
      span({
        attributes: {
          'openinference.span.kind': 'LLM',
          'input.value': JSON.stringify({ model: 'a-model', messages: said }),
        },
      }),
  ],
  [
    'messages in an envelope',
    (said) =>
      span({
        attributes: {
          'openinference.span.kind': 'CHAIN',
          'input.value': JSON.stringify({ messages: JSON.stringify(said), thread: 'a thread' }),
        },
      }),
  ],
];

describe.each(SHAPES)('the newest message of a long conversation: %s', (_name, stepOf) => {
  it('is matched, and the run says that older texts were left out', () => {
    expect(found(stepOf(CONVERSATION))).toEqual(['step_input']);
    const { truncated, unparsed, findings } = evaluate(stepOf(CONVERSATION));
    expect({ unparsed, isCut: truncated > 0 }).toEqual({ unparsed: 0, isCut: true });
    expect(findings[0]?.excerpt).toBe('and now a needle');
  });

  it('is matched when it is long itself, in its middle, where it fits', () => {
    const long = `${'a '.repeat(20_000)} needle ${'b '.repeat(8_000)}`;
    expect(found(stepOf([...EARLIER, { role: 'user', content: long }]))).toEqual(['step_input']);
  });

  it('is matched at its beginning and at its end where it does not fit', () => {
    const pad = 'a '.repeat(60_000);
    for (const content of [`needle ${pad}`, `${pad} needle`]) {
      expect(found(stepOf([...EARLIER, { role: 'user', content }]))).toEqual(['step_input']);
    }
  });

  it('is not matched at the expense of what the oldest message had alone', () => {
    expect(found(stepOf([NEWEST, ...EARLIER.slice(1)]))).toEqual([]);
    expect(found(stepOf([NEWEST, ...EARLIER.slice(1, 9)]))).toEqual(['step_input']);
  });
});

describe('the cap, over steps and sources', () => {
  it('new messages of later steps are matched in a run that repeats its history', () => {
    const steps = Array.from({ length: 5 }, (_, turn) =>
      operation('chat', {
        'gen_ai.input.messages': withParts([
          ...EARLIER,
          ...EARLIER.slice(0, turn).map(({ role, content }) => ({
            role,
            content: `again ${content}`,
          })),
          ...(turn === 4 ? [NEWEST] : []),
        ]),
      }),
    );
    expect(found(...steps)).toEqual(['step_input']);
    expect(evaluate(...steps).findings[0]?.place?.step).toBe(5);
  });

  it('the answer of a model is newer than the answers in its input', () => {
    const step = operation('chat', {
      'gen_ai.input.messages': withParts(EARLIER),
      'gen_ai.output.messages': withParts([{ role: 'assistant', content: 'a needle' }]),
    });
    expect(found(step)).toEqual(['agent_output']);
  });

  it('results of tools that ran at the same time all have a share, and the end of each', () => {
    const pad = 'row of a table\n'.repeat(8_000);
    for (const results of [
      [`${pad} needle`, pad],
      [pad, `${pad} needle`],
      [`needle ${pad}`, `x${pad}`, `y${pad}`],
    ]) {
      const messages = results.map((content, at) => ({
        role: 'tool',
        parts: [{ type: 'tool_call_response', id: `call_${at}`, response: content }],
      }));
      const step = operation('chat', { 'gen_ai.input.messages': JSON.stringify(messages) });
      expect(found(step)).toEqual(['tool_result']);
    }
  });

  it('a value is matched as it was written before its other forms, as it was when it fitted alone', () => {
    const pad = 'row '.repeat(10_000);
    const result = JSON.stringify({ before: pad.slice(0, 25_000), 'say "': 'needle', after: pad });
    const step = operation('execute_tool', { 'gen_ai.tool.call.result': result.slice(0, 60_000) });
    const matcher = createMatcher([tinyRule({ conditions: [['content', ':"needle"']] })]);
    const { findings } = evaluateRun([step], matcher, () => true, settings);
    expect(findings).toHaveLength(1);
  });

  it('a message that is JSON counts with its place in the conversation', () => {
    const typed = JSON.stringify({ role: 'system', content: 'a needle' });
    const step = span({
      attributes: {
        'openinference.span.kind': 'LLM',
        'input.value': JSON.stringify({ messages: [...EARLIER, { role: 'user', content: typed }] }),
      },
    });
    expect(found(step)).toEqual(['step_input']);
  });

  it('a message that repeats an earlier one is as new as its last place', () => {
    const said = [NEWEST, ...EARLIER, NEWEST];
    const step = operation('chat', { 'gen_ai.input.messages': withParts(said) });
    expect(found(step)).toEqual(['step_input']);
    expect(evaluate(step).findings[0]?.place?.text).toBe(0);
  });

  it('log records are steps of their own', () => {
    const event = { 'event.name': 'gen_ai.user.message' };
    const steps = CONVERSATION.map((body) =>
      log({ name: 'gen_ai.user.message', attributes: event, body: { ...body } }),
    );
    expect(found(...steps)).toEqual(['step_input']);
    expect(evaluate(...steps).truncated).toBe(0);
  });

  it('a document of messages up to 4 Mi characters is read by message, a larger one from both ends', () => {
    const turns = (count: number) =>
      Array.from({ length: count }, (_, at) => ({
        role: 'user',
        content: `${at} ${'x '.repeat(5_000)}`,
      }));
    const stepOf = (said: Said[]) =>
      operation('chat', { 'gen_ai.input.messages': withParts(said) });
    expect(found(stepOf([...turns(400), NEWEST]))).toEqual(['step_input']);
    const large = evaluate(stepOf([...turns(450), NEWEST]));
    expect(large.findings.map(({ surface }) => surface)).toEqual(['step_input']);
    expect(large.unparsed).toBe(1);
  });
});
