/**
 * Messages of every shape, cut at every offset as a sender's limit on a value's length does: what is read is
 * the beginning of what the whole has on that surface, and the cut shows.
 */
import { describe, expect, it } from 'vitest';
import { extractSteps } from '../../../../src/engine/surfaces/reader/extract.ts';
import type { JsonObject, JsonValue } from '../../../../src/model/json.ts';
import type { Step } from '../../../../src/model/steps.ts';
import { operation, span } from '../../steps.ts';
import { withEvent } from '../read.ts';

const ARGS = JSON.stringify({ cmd: 'a\nTOOLARG "one" é😀', n: [1, 2.5e3, true] });

const OPENAI = [
  { role: 'system', content: 'OPERATOR words' },
  { role: 'user', content: 'USER "hello"\n\\ é😀' },
  {
    role: 'assistant',
    content: 'MODEL answers',
    tool_calls: [{ id: 'c', type: 'function', function: { name: 'run', arguments: ARGS } }],
  },
  { role: 'tool', tool_call_id: 'c', content: 'RESULT "one"\nRESULT two' },
];
const PARTS = [
  { role: 'system', parts: [{ type: 'text', content: 'OPERATOR words' }] },
  { role: 'user', parts: [{ type: 'text', content: 'USER "hello"\né' }] },
  {
    role: 'assistant',
    parts: [
      { type: 'reasoning', content: 'MODEL thinks' },
      { type: 'tool_call', id: 'c', name: 'run', arguments: { cmd: 'TOOLARG\none', k: null } },
    ],
  },
  { role: 'tool', parts: [{ type: 'tool_call_response', id: 'c', response: 'RESULT\nfound' }] },
];
const ANTHROPIC = {
  model: 'm',
  system: 'OPERATOR words',
  max_tokens: 10,
  messages: [
    { role: 'user', content: [{ type: 'text', text: 'USER hello' }] },
    {
      role: 'assistant',
      content: [{ type: 'tool_use', id: 'c', name: 'run', input: { a: 'TOOLARG' } }],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: 'RESULT found' }] },
  ],
  tools: [{ name: 'run', description: 'OPERATOR describes' }],
};
const GEMINI = {
  model: 'm',
  config: { system_instruction: 'OPERATOR words', temperature: 0.5 },
  contents: [
    { parts: [{ text: 'USER hello' }], role: 'user' },
    { parts: [{ function_call: { args: { a: 'TOOLARG' }, name: 'run' } }], role: 'model' },
    { parts: [{ function_response: { name: 'run', response: { r: 'RESULT' } } }], role: 'user' },
  ],
};
const GEMINI_REST = {
  contents: [
    { role: 'user', parts: [{ text: 'USER hello' }] },
    { role: 'model', parts: [{ functionCall: { name: 'run', args: { a: 'TOOLARG' } } }] },
    { role: 'user', parts: [{ functionResponse: { name: 'run', response: { r: 'RESULT' } } }] },
  ],
  systemInstruction: { parts: [{ text: 'OPERATOR words' }] },
};
const LANGCHAIN = [
  [
    { content: 'OPERATOR words', additional_kwargs: {}, type: 'system', name: null },
    { content: 'USER hello', additional_kwargs: {}, type: 'human', example: false },
    {
      content: 'MODEL answers',
      tool_calls: [{ name: 'run', args: { a: 'TOOLARG' }, id: 'c', type: 'tool_call' }],
      type: 'ai',
    },
    { content: 'RESULT found', type: 'tool', tool_call_id: 'c' },
  ],
];
const lc = (name: string, content: string) => ({
  lc: 1,
  type: 'constructor',
  id: ['langchain', 'schema', 'messages', name],
  kwargs: { content, type: name.replace('Message', '').toLowerCase() },
});
const SERIALISED = {
  messages: [
    lc('SystemMessage', 'OPERATOR words'),
    lc('HumanMessage', 'USER hi'),
    lc('ToolMessage', 'RESULT'),
  ],
};
const SORTED = OPENAI.map((one) => Object.fromEntries(Object.entries(one).sort()));
const RESPONSES = [
  { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'OPERATOR words' }] },
  { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'USER hello' }] },
  { type: 'function_call', call_id: 'c', name: 'run', arguments: ARGS },
  { type: 'function_call_output', call_id: 'c', output: 'RESULT found' },
];
const AI_SDK = [
  { role: 'system', content: 'OPERATOR words' },
  { role: 'user', content: [{ type: 'text', text: 'USER hello' }] },
  {
    role: 'assistant',
    content: [{ type: 'tool-call', toolCallId: 'c', toolName: 'run', input: { a: 'TOOLARG' } }],
  },
  {
    role: 'tool',
    content: [
      {
        type: 'tool-result',
        toolCallId: 'c',
        toolName: 'run',
        output: { type: 'text', value: 'RESULT' },
      },
    ],
  },
];
const BEDROCK = [
  { role: 'user', content: [{ text: 'USER hello' }] },
  {
    role: 'assistant',
    content: [{ toolUse: { toolUseId: 'c', name: 'run', input: { a: 'TOOLARG' } } }],
  },
  { role: 'user', content: [{ toolResult: { toolUseId: 'c', content: [{ text: 'RESULT' }] } }] },
];

const SHAPES: Readonly<Record<string, JsonValue>> = {
  OPENAI,
  PARTS,
  ANTHROPIC,
  GEMINI,
  GEMINI_REST,
  LANGCHAIN,
  SERIALISED,
  SORTED,
  RESPONSES,
  AI_SDK,
  BEDROCK,
  'in a request': { model: 'm', messages: OPENAI },
  'of an answer': {
    choices: [{ index: 0, message: { role: 'assistant', content: 'MODEL answers' } }],
  },
};

const llm = (attributes: JsonObject) =>
  span({ attributes: { 'gen_ai.operation.name': 'chat', ...attributes } });
const CARRIERS: Readonly<Record<string, (text: string) => Step>> = {
  OpenTelemetry: (text) => operation('chat', { 'gen_ai.input.messages': text }),
  'AI SDK': (text) =>
    llm({ 'ai.operationId': 'ai.generateText.doGenerate', 'ai.prompt.messages': text }),
  OpenInference: (text) =>
    span({
      attributes: {
        'openinference.span.kind': 'LLM',
        'input.mime_type': 'application/json',
        'input.value': text,
      },
    }),
  Langfuse: (text) =>
    span({
      attributes: { 'langfuse.observation.type': 'generation', 'langfuse.observation.input': text },
    }),
  MLflow: (text) => span({ attributes: { 'mlflow.spanType': '"LLM"', 'mlflow.spanInputs': text } }),
  LangSmith: (text) =>
    span({ attributes: { 'langsmith.span.kind': 'llm', 'gen_ai.prompt': text } }),
  Braintrust: (text) =>
    span({
      attributes: { 'braintrust.span_attributes': '{"type":"llm"}', 'braintrust.input_json': text },
    }),
  'an event': (text) =>
    withEvent(operation('chat', {}), 'gen_ai.client.inference.operation.details', {
      'gen_ai.input.messages': text,
    }),
};

function readStep(step: Step) {
  const [{ texts, isCut } = { texts: [], isCut: false }] = extractSteps([step]);
  return { texts: texts.map(({ surface, text }) => ({ surface, text })), isCut };
}

/** Which author's words are on which surface. */
function wordsIn(texts: readonly { readonly surface: string; readonly text: string }[]): string[] {
  const found = texts.flatMap(({ surface, text }) =>
    (text.match(/USER|MODEL|TOOLARG|RESULT/g) ?? []).map((word) => `${surface} ${word}`),
  );
  return [...new Set(found)];
}

describe.each(Object.entries(CARRIERS))('%s', (_carrier, carry) => {
  it.each(Object.entries(SHAPES))('%s', (shape, document) => {
    const whole = JSON.stringify(document);
    const sent = readStep(carry(whole));
    expect(sent.isCut).toBe(false);
    const wrong: unknown[] = [];
    let before: string[] = [];
    for (let at = 1; at < whole.length; at += 1) {
      const mark = ['', '...', '… [truncated]'][at % 3] ?? '';
      const { texts, isCut } = readStep(carry(whole.slice(0, at) + mark));
      if (!isCut) wrong.push({ at, isCut });
      const words = wordsIn(texts);
      const lost = before.filter((word) => !words.includes(word));
      if (lost.length > 0) wrong.push({ at, lost });
      before = words;
      for (const { surface, text } of texts) {
        const isBeginning = sent.texts.some(
          (one) => one.surface === surface && one.text.startsWith(text),
        );
        if (!isBeginning)
          wrong.push({ at, cut: whole.slice(Math.max(0, at - 60), at), surface, text });
      }
    }
    expect(wrong.slice(0, 5)).toEqual([]);
    // Only the last bracket was cut. An answer in a request's place is read whole if it is.
    const missed = wordsIn(sent.texts).filter((word) => !before.includes(word));
    expect(shape === 'of an answer' ? [] : missed).toEqual([]);
  });
});
