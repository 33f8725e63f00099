/**
 * LangSmith's SDKs that send runs over OTLP (langchain-ai/langsmith-sdk
 * `python/langsmith/_internal/otel/_otel_exporter.py`, `js/src/experimental/otel`): input and output of
 * any run, one JSON object each, in the deprecated attributes of OpenTelemetry GenAI. Data only.
 *
 * `gen_ai.operation.name` calls a retriever `embeddings` and a prompt `chat`: the run's own type counts.
 *
 * Left out: `langsmith.metadata.*`, tags, runtime and request headers, `gen_ai.serialized.signature`
 * and `.doc` (a tool's description), `gen_ai.request.extra_*`, ids; the vectors of embeddings.
 */
import type { Convention } from '../../reader/convention.ts';
import { INPUT_SURFACE, OUTPUT_SURFACE } from '../../reader/step-surfaces.ts';
import { text } from '../rows.ts';

/** All spans that are marked for LangSmith, by its SDKs or others. */
export const LANGSMITH: Convention = {
  name: 'langsmith',
  kinds: [
    {
      key: 'langsmith.span.kind',
      kinds: {
        tool: 'tool',
        llm: 'llm',
        agent: 'agent',
        chain: 'chain',
        prompt: 'chain',
        parser: 'chain',
        retriever: 'retriever',
        embedding: 'embedding',
      },
    },
  ],
  run: {
    // `langsmith.trace.session_id` is a project.
    names: {
      model: { 'langsmith.metadata.ls_model_name': 110 },
      sessionId: {
        'langsmith.metadata.session_id': 100,
        'langsmith.metadata.thread_id': 110,
        'langsmith.metadata.conversation_id': 120,
      },
      userId: { 'langsmith.metadata.user_id': 160 },
    },
  },
};

/** Its SDKs, which write every value as JSON; other writers of these attributes do not. */
export const LANGSMITH_SDK: Convention = {
  name: 'langsmith-sdk',
  appliesTo: { scopes: ['langsmith'], attributes: ['langsmith.span.dotted_order'] },
  attributes: [
    // A tool run without `serialized` is named after the tool.
    { key: 'gen_ai.serialized.name', onKinds: ['tool'], read: text('tool_name') },
    { key: 'langsmith.trace.name', onKinds: ['tool'], read: text('tool_name') },
    {
      key: 'gen_ai.prompt',
      read: { as: 'exchange', encoded: true, side: 'input', surface: INPUT_SURFACE },
    },
    {
      key: 'gen_ai.completion',
      onKinds: ['llm'],
      read: {
        as: 'exchange',
        encoded: true,
        side: 'output',
        surface: OUTPUT_SURFACE,
        // Of LangChain's models: a generation's text repeats its message.
        envelope: {
          take: [['generations', 'message']],
          beside: ['llm_output', 'run', 'type'],
        },
      },
    },
    {
      key: 'gen_ai.completion',
      // Vectors of an embedding.
      notOnKinds: ['llm', 'embedding'],
      read: { as: 'exchange', encoded: true, side: 'output', surface: OUTPUT_SURFACE },
    },
  ],
};
