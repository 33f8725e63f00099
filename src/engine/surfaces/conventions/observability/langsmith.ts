/**
 * LangSmith's SDKs when they send runs over OTLP (langchain-ai/langsmith-sdk
 * `python/langsmith/_internal/otel/_otel_exporter.py`, `js/src/experimental/otel`): what any run took
 * and gave, as one JSON object each, on the deprecated keys of OpenTelemetry GenAI. Data only.
 *
 * `gen_ai.operation.name` calls a retriever `embeddings` and a prompt `chat`: the run's own type counts.
 *
 * Left out: `langsmith.metadata.*`, tags, runtime and request headers, `gen_ai.serialized.signature`
 * and `.doc` (a tool's description), `gen_ai.request.extra_*`, ids; what embeddings gave, which is
 * vectors.
 */
import type { Convention } from '../../reader/convention.ts';
import { INPUT_SURFACE, OUTPUT_SURFACE } from '../../reader/step-surfaces.ts';

/** Whoever marks spans for LangSmith, by its SDKs or not. */
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
  attributes: [],
  events: [],
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

/** Its SDKs, which write every value as JSON; others who use these keys do not. */
export const LANGSMITH_SDK: Convention = {
  name: 'langsmith-sdk',
  appliesTo: { scopes: ['langsmith'], attributes: ['langsmith.span.dotted_order'] },
  attributes: [
    // A run's name is its tool's, too, where nothing was serialised.
    {
      key: 'gen_ai.serialized.name',
      onKinds: ['tool'],
      read: { as: 'text', surface: 'tool_name' },
    },
    { key: 'langsmith.trace.name', onKinds: ['tool'], read: { as: 'text', surface: 'tool_name' } },
    {
      key: 'gen_ai.prompt',
      read: {
        as: 'exchange',
        encoded: true,
        side: 'input',
        surface: INPUT_SURFACE,
      },
    },
    {
      key: 'gen_ai.completion',
      onKinds: ['llm'],
      read: {
        as: 'exchange',
        encoded: true,
        side: 'output',
        surface: OUTPUT_SURFACE,
        // Of LangChain's models: the text of a generation is its message's.
        envelope: {
          take: [['generations', 'message']],
          beside: ['llm_output', 'run', 'type'],
        },
      },
    },
    {
      key: 'gen_ai.completion',
      // Of an embedding it is vectors.
      notOnKinds: ['llm', 'embedding'],
      read: { as: 'exchange', encoded: true, side: 'output', surface: OUTPUT_SURFACE },
    },
  ],
  events: [],
};
