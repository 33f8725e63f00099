/**
 * Langfuse's own SDKs (langfuse/langfuse-python `langfuse/_client/attributes.py`, langfuse/langfuse
 * `packages/shared/src/server/otel/{OtelIngestionProcessor,ObservationTypeMapper}.ts`). Its JS and
 * Python SDKs write a string as it is and anything else as JSON. Data only.
 *
 * Left out: `langfuse.*.metadata.*` and tags (the operator's), `langfuse.observation.model.parameters`,
 * prompt names, usage and cost, ids; the vectors of embeddings.
 */
import type { Convention, ValueEnvelope } from '../../reader/convention.ts';
import { ERROR_SURFACE, INPUT_SURFACE, OUTPUT_SURFACE } from '../../reader/step-surfaces.ts';
import { exchange, text } from '../rows.ts';

const TYPE = 'langfuse.observation.type';

/** Of decorated functions. */
const ARGUMENTS: ValueEnvelope = { take: ['args', 'kwargs'], beside: [] };

export const LANGFUSE: Convention = {
  name: 'langfuse',
  appliesTo: {
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
      // `span` shows nothing: other rows decide.
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
    { of: 'name', onKinds: ['tool'], read: text('tool_name') },
    { key: 'langfuse.observation.input', read: exchange('input', INPUT_SURFACE, ARGUMENTS) },
    {
      key: 'langfuse.observation.output',
      notOnKinds: ['embedding'],
      read: exchange('output', OUTPUT_SURFACE),
    },
    { key: 'langfuse.observation.status_message', aside: true, read: text(ERROR_SURFACE) },
    // Of the trace: input and output of its root, or of another span, perhaps not this one.
    { key: 'langfuse.trace.input', raw: 'equal', read: exchange('input', 'step_input', ARGUMENTS) },
    { key: 'langfuse.trace.output', raw: 'equal', read: exchange('output', 'agent_output') },
  ],
  run: {
    names: {
      agentName: { 'langfuse.trace.name': 10 },
      model: { 'langfuse.observation.model.name': 30 },
      sessionId: {
        'langfuse.session.id': 20,
        // of its handler for LangChain, under another SDK
        'langfuse.trace.metadata.langfuse_session_id': 190,
        'langfuse.observation.metadata.langfuse_session_id': 200,
      },
      userId: {
        'langfuse.user.id': 20,
        'langfuse.trace.metadata.langfuse_user_id': 140,
        'langfuse.observation.metadata.langfuse_user_id': 150,
      },
    },
    failure: { key: 'langfuse.observation.level', values: ['ERROR'] },
    placeholders: ['<truncated due to size exceeding limit>'],
    rootMarks: ['langfuse.internal.as_root', 'langfuse.internal.is_app_root'],
  },
};
