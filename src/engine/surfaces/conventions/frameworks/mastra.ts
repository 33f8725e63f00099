/**
 * Mastra's OpenTelemetry exporter (mastra-ai/mastra `observability/otel-exporter/src/gen-ai-semantics.ts`).
 * Spans of models and tools are OpenTelemetry GenAI, which `otel-genai.ts` reads; here are the input and
 * output of all other spans, in attributes named for the span's type. It writes a string as it is and
 * anything else as JSON. Data only.
 *
 * Left out: settings (`mastra.<type>.max_steps`, `.mode`), times, `gen_ai.system_instructions` and
 * `gen_ai.tool.definitions` (the operator's), vectors.
 */
import type { Convention } from '../../reader/convention.ts';
import { INPUT_SURFACE, OUTPUT_SURFACE } from '../../reader/step-surfaces.ts';

export const MASTRA: Convention = {
  name: 'mastra',
  kinds: [
    {
      key: 'mastra.span.type',
      kinds: {
        tool_call: 'tool',
        mcp_tool_call: 'tool',
        provider_tool_call: 'tool',
        model_generation: 'llm',
        model_step: 'llm',
        model_inference: 'llm',
        model_chunk: 'llm',
        agent_run: 'agent',
        workflow_run: 'chain',
        workflow_step: 'chain',
        workflow_conditional: 'chain',
        workflow_conditional_eval: 'chain',
        workflow_parallel: 'chain',
        workflow_loop: 'chain',
        workflow_sleep: 'chain',
        workflow_wait_event: 'chain',
        rag_embedding: 'embedding',
      },
    },
  ],
  attributes: [
    {
      prefix: 'mastra.',
      suffix: '.input',
      read: { as: 'exchange', side: 'input', surface: INPUT_SURFACE },
    },
    {
      prefix: 'mastra.',
      suffix: '.output',
      notOnKinds: ['embedding'],
      read: { as: 'exchange', side: 'output', surface: OUTPUT_SURFACE },
    },
  ],
};
