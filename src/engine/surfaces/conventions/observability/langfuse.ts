/**
 * Langfuse's own SDKs (langfuse/langfuse-python `langfuse/_client/attributes.py`, langfuse/langfuse
 * `packages/shared/src/server/otel/{OtelIngestionProcessor,ObservationTypeMapper}.ts`). Its JS and
 * Python SDKs write a string as it is and anything else as JSON. Data only.
 *
 * Left out: `langfuse.*.metadata.*` and tags (the operator's), `langfuse.observation.model.parameters`,
 * prompt names, usage and cost, ids; what embeddings gave, which is vectors.
 */
import type { Convention, Envelope } from '../../reader/convention.ts';
import { GAVE, TOOK } from '../../reader/step-surfaces.ts';

const TYPE = 'langfuse.observation.type';

/** Of decorated functions. */
const CALL: Envelope = { take: ['args', 'kwargs'], beside: [] };

export const LANGFUSE: Convention = {
  name: 'langfuse',
  on: {
    scopes: ['langfuse-sdk'],
    attributes: [
      TYPE,
      'langfuse.observation.input',
      'langfuse.observation.output',
      'langfuse.observation.status_message',
      'langfuse.trace.input',
      'langfuse.trace.output',
    ],
  },
  kinds: [
    {
      key: TYPE,
      // `span` says nothing: what else the step shows counts.
      kinds: {
        tool: 'tool',
        generation: 'llm',
        agent: 'agent',
        chain: 'chain',
        retriever: 'retriever',
        embedding: 'embedding',
        evaluator: 'other',
        guardrail: 'other',
        event: 'other',
      },
    },
    // The Python SDK to 3.3.0 called generations spans.
    { has: 'langfuse.observation.model.name', kind: 'llm' },
  ],
  attributes: [
    { of: 'name', onKinds: ['tool'], read: { as: 'text', place: 'tool_name' } },
    {
      key: 'langfuse.observation.input',
      read: {
        as: 'exchange',
        side: 'input',
        place: TOOK,
        envelope: CALL,
      },
    },
    {
      key: 'langfuse.observation.output',
      notOnKinds: ['embedding'],
      read: {
        as: 'exchange',
        side: 'output',
        place: GAVE,
      },
    },
    {
      key: 'langfuse.observation.status_message',
      aside: true,
      read: { as: 'text', place: { tool: 'tool_result', else: 'step_output' } },
    },
    // Of the trace: what its root, or another of its spans, took and gave, and that need not be this one.
    {
      key: 'langfuse.trace.input',
      raw: 'equal',
      read: { as: 'exchange', side: 'input', place: 'step_input', envelope: CALL },
    },
    {
      key: 'langfuse.trace.output',
      raw: 'equal',
      read: { as: 'exchange', side: 'output', place: 'agent_output' },
    },
  ],
  events: [],
};
