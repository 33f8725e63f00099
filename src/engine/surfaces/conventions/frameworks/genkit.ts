/**
 * Genkit, JS, Go and Python (firebase/genkit, its "Genkit Telemetry Overview"): every action's input
 * and output as JSON. Data only.
 *
 * Left out: `genkit:metadata:*` (`context` holds who is signed in), `genkit:init`, paths and keys; of
 * a model's request its configuration, tools and output schema, of its answer the provider's own,
 * `raw` or `custom`, which repeats it; vectors.
 */
import type { Convention, RowReading, ValueEnvelope } from '../../reader/convention.ts';
import { MEDIA } from '../../reader/messages/part-shapes.ts';
import { INPUT_SURFACE, OUTPUT_SURFACE } from '../../reader/step-surfaces.ts';
import { kindsOf, text } from '../rows.ts';

/** Of a model, and of `generate`, which runs the model and its tools in turn. */
const REQUEST: ValueEnvelope = {
  take: ['messages', 'docs', ['resume', 'respond'], ['resume', 'restart']],
  beside: [
    'config',
    'tools',
    'toolChoice',
    'output',
    'resources',
    'model',
    'use',
    'returnToolRequests',
    'maxTurns',
    'stepName',
  ],
};

/** With one message, or with candidates. */
const ANSWER: ValueEnvelope = {
  take: ['message', ['candidates', 'message'], 'finishMessage'],
  beside: ['finishReason', 'usage', 'custom', 'raw', 'request', 'operation', 'latencyMs'],
};

const GENERATE = { key: 'genkit:type', value: 'util' };

const request: RowReading = {
  as: 'exchange',
  encoded: true,
  side: 'input',
  surface: INPUT_SURFACE,
  envelope: REQUEST,
};
const answer: RowReading = {
  as: 'exchange',
  encoded: true,
  side: 'output',
  surface: OUTPUT_SURFACE,
  envelope: ANSWER,
};

export const GENKIT: Convention = {
  name: 'genkit',
  kinds: [
    {
      key: 'genkit:metadata:subtype',
      kinds: kindsOf({
        tool: ['tool', 'tool.v2'],
        llm: ['model', 'background-model'],
        // A flow is the outermost one: its output is the answer.
        agent: ['agent', 'flow'],
        chain: ['prompt', 'executable-prompt', 'util'],
        retriever: ['retriever'],
        embedding: ['embedder'],
        other: ['indexer', 'reranker', 'evaluator'],
      }),
    },
    {
      key: 'genkit:type',
      kinds: kindsOf({ chain: ['flowstep', 'prompttemplate', 'dotprompt', 'util', 'helper'] }),
    },
  ],
  attributes: [
    { key: 'genkit:name', onKinds: ['tool'], read: text('tool_name') },
    { key: 'genkit:input', onKinds: ['llm'], read: request },
    { key: 'genkit:input', where: GENERATE, read: request },
    {
      key: 'genkit:input',
      notOnKinds: ['llm'],
      whereNot: GENERATE,
      read: { as: 'exchange', encoded: true, side: 'input', surface: INPUT_SURFACE },
    },
    { key: 'genkit:output', onKinds: ['llm'], read: answer },
    { key: 'genkit:output', where: GENERATE, read: answer },
    {
      key: 'genkit:output',
      notOnKinds: ['llm', 'embedding'],
      whereNot: GENERATE,
      read: { as: 'exchange', encoded: true, side: 'output', surface: OUTPUT_SURFACE },
    },
  ],
  run: {
    names: { sessionId: { 'genkit:metadata:agent:sessionId': 160, 'genkit:sessionId': 170 } },
    stepName: 'genkit:name',
    failure: { key: 'genkit:state', values: ['error'] },
    rootMarks: ['genkit:isRoot'],
  },
  parts: {
    byMember: {
      // Beside its output a tool may return parts, which the message around it says.
      toolResponse: { toolName: ['name'], toolResult: ['output'], said: ['content'] },
      media: MEDIA,
    },
  },
};
