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
import { exchange, kindsOf, messages } from '../rows.ts';

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
  { key: `mastra.${type}.input`, stubs: STUBS, read: messages('input') },
  { key: `mastra.${type}.output`, read: messages('output', ANSWER) },
]);

export const MASTRA: Convention = {
  name: 'mastra',
  kinds: [
    // Of the model's spans only a chunk with a tool's result has one.
    { has: 'mastra.metadata.toolCallId', kind: 'tool' },
    {
      key: 'mastra.span.type',
      kinds: kindsOf({
        tool: ['tool_call', 'mcp_tool_call', 'provider_tool_call'],
        llm: ['model_generation', 'model_step', 'model_inference', 'model_chunk'],
        agent: ['agent_run'],
        chain: [
          'workflow_run',
          'workflow_step',
          'workflow_conditional',
          'workflow_conditional_eval',
          'workflow_parallel',
          'workflow_loop',
          'workflow_sleep',
          'workflow_wait_event',
        ],
        embedding: ['rag_embedding'],
      }),
    },
  ],
  attributes: [
    ...MODEL_ROWS,
    {
      prefix: 'mastra.',
      suffix: '.input',
      except: MODEL_ROWS.map(({ key }) => key.slice('mastra.'.length)),
      read: exchange('input', INPUT_SURFACE),
    },
    {
      prefix: 'mastra.',
      suffix: '.output',
      except: MODEL_ROWS.map(({ key }) => key.slice('mastra.'.length)),
      notOnKinds: ['embedding'],
      read: exchange('output', OUTPUT_SURFACE),
    },
  ],
  run: {
    names: {
      sessionId: { 'mastra.metadata.sessionId': 260 },
      userId: { 'mastra.metadata.userId': 190 },
    },
  },
};
