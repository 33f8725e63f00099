/**
 * Genkit, JS, Go and Python (firebase/genkit, its "Genkit Telemetry Overview"): every action's input
 * and output as JSON. Data only.
 *
 * Left out: `genkit:metadata:*` (`context` holds who is signed in), `genkit:init`, paths and keys; of
 * a model's request its configuration, tools and output schema, of its answer the provider's own,
 * `raw` or `custom`, which repeats it; vectors.
 */
import type { Convention, Envelope } from '../../reader/convention.ts';
import { GAVE, TOOK } from '../../reader/step-surfaces.ts';

const REQUEST: Envelope = {
  take: ['messages', 'docs'],
  beside: ['config', 'tools', 'toolChoice', 'output', 'resources'],
};

/** With one message, or with candidates. */
const ANSWER: Envelope = {
  take: ['message', ['candidates', 'message'], 'finishMessage'],
  beside: ['finishReason', 'usage', 'custom', 'raw', 'request', 'operation', 'latencyMs'],
};

export const GENKIT: Convention = {
  name: 'genkit',
  kinds: [
    {
      key: 'genkit:metadata:subtype',
      kinds: {
        tool: 'tool',
        'tool.v2': 'tool',
        model: 'llm',
        'background-model': 'llm',
        agent: 'agent',
        // The outermost one: what it gives is the answer.
        flow: 'agent',
        prompt: 'chain',
        'executable-prompt': 'chain',
        util: 'chain',
        retriever: 'retriever',
        embedder: 'embedding',
        indexer: 'other',
        reranker: 'other',
        evaluator: 'other',
      },
    },
    {
      key: 'genkit:type',
      kinds: {
        flowstep: 'chain',
        prompttemplate: 'chain',
        dotprompt: 'chain',
        util: 'chain',
        helper: 'chain',
      },
    },
  ],
  attributes: [
    { key: 'genkit:name', onKinds: ['tool'], read: { as: 'text', place: 'tool_name' } },
    {
      key: 'genkit:input',
      onKinds: ['llm'],
      read: { as: 'exchange', encoded: true, side: 'input', place: TOOK, envelope: REQUEST },
    },
    {
      key: 'genkit:input',
      notOnKinds: ['llm'],
      read: { as: 'exchange', encoded: true, side: 'input', place: TOOK },
    },
    {
      key: 'genkit:output',
      onKinds: ['llm'],
      read: { as: 'exchange', encoded: true, side: 'output', place: GAVE, envelope: ANSWER },
    },
    {
      key: 'genkit:output',
      notOnKinds: ['llm', 'embedding'],
      read: { as: 'exchange', encoded: true, side: 'output', place: GAVE },
    },
  ],
  events: [],
};
