/**
 * Mastra's OpenTelemetry exporter (mastra-ai/mastra `observability/otel-exporter/src/gen-ai-semantics.ts`,
 * `observability/mastra/src/model-tracing.ts`). The spans of tools, and of model calls
 * (`model_inference`; before that type `model_generation`) are OpenTelemetry GenAI, which
 * `otel-genai.ts` reads; here are the input and output of all other spans, in attributes named for the
 * span's type. It writes a string as it is and anything else as JSON. Data only.
 *
 * Left out: settings (`mastra.<type>.max_steps`, `.mode`), times, `gen_ai.system_instructions` and
 * `gen_ai.tool.definitions` (no field of rules is for them), vectors.
 */
import type { AttributeRow, Convention, ValueEnvelope } from '../../reader/convention.ts';
import { INPUT_SURFACE, OUTPUT_SURFACE } from '../../reader/step-surfaces.ts';

/** Spans of a model around the call itself. */
const MODEL_SPANS = ['model_generation', 'model_step', 'model_chunk'];

/** Of a model's answer. Any other structure is read whole. */
const ANSWER: ValueEnvelope = {
  take: ['reasoningText', 'text', 'object', 'toolCalls', 'files', 'sources', 'warnings'],
  // the parts of `reasoningText`
  beside: ['reasoning'],
};

/** A step's input is a preview, which has marks in place of all parts without text. */
const STUBS = /^(?:\s*\[(?:(?:tool|tool-result): [\w.-]+|image|file|reasoning|object)\])+\s*$/;

const MODEL_ROWS = MODEL_SPANS.flatMap((type): (AttributeRow & { key: string })[] => [
  { key: `mastra.${type}.input`, stubs: STUBS, read: { as: 'messages', side: 'input' } },
  {
    key: `mastra.${type}.output`,
    read: { as: 'messages', side: 'output', envelope: ANSWER },
  },
]);

export const MASTRA: Convention = {
  name: 'mastra',
  kinds: [
    // Of the model's spans only a chunk with a tool's result has one.
    { has: 'mastra.metadata.toolCallId', kind: 'tool' },
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
    ...MODEL_ROWS,
    {
      prefix: 'mastra.',
      suffix: '.input',
      except: MODEL_ROWS.map(({ key }) => key.slice('mastra.'.length)),
      read: { as: 'exchange', side: 'input', surface: INPUT_SURFACE },
    },
    {
      prefix: 'mastra.',
      suffix: '.output',
      except: MODEL_ROWS.map(({ key }) => key.slice('mastra.'.length)),
      notOnKinds: ['embedding'],
      read: { as: 'exchange', side: 'output', surface: OUTPUT_SURFACE },
    },
  ],
  run: {
    names: {
      sessionId: { 'mastra.metadata.sessionId': 260 },
      userId: { 'mastra.metadata.userId': 190 },
    },
  },
};
