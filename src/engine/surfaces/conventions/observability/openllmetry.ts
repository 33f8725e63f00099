/**
 * OpenLLMetry (traceloop/openllmetry: `packages/opentelemetry-semantic-conventions-ai`,
 * `packages/traceloop-sdk`, `packages/opentelemetry-instrumentation-mcp` and others): flattened
 * messages, which LiteLLM writes too, input and output of decorated functions, MCP requests. Its
 * versions since spring 2026 write OpenTelemetry GenAI, which `otel-genai.ts` reads. Data only.
 *
 * Left out: `llm.request.functions.*`, `traceloop.prompt.template` (the operator's),
 * `traceloop.association.properties.*`, `mcp.session.init_options`, names of handoffs, ids; the
 * markers `*.content.completion.chunk`, which have no text.
 */
import type { AttributeRow, Convention, ValueEnvelope } from '../../reader/convention.ts';
import { INPUT_SURFACE, OUTPUT_SURFACE } from '../../reader/step-surfaces.ts';
import { kindsOf, structure } from '../rows.ts';

/** Of decorated functions, and of a tool called over MCP. Every member is text. */
const ARGUMENTS: ValueEnvelope = {
  name: ['tool_name'],
  take: ['args', 'kwargs', 'arguments'],
  beside: [],
};

/** An entity's input and output, in the envelopes of an instrumentation. */
export function entityRows(
  input: ValueEnvelope | undefined,
  output?: ValueEnvelope,
): AttributeRow[] {
  const inputRow = {
    read: {
      as: 'exchange',
      side: 'input',
      surface: INPUT_SURFACE,
      ...(input === undefined ? {} : { envelope: input }),
    },
  } as const;
  const outputRow = {
    read: {
      as: 'exchange',
      side: 'output',
      surface: OUTPUT_SURFACE,
      ...(output === undefined ? {} : { envelope: output }),
    },
  } as const;
  return [
    { key: 'traceloop.entity.input', ...inputRow },
    { key: 'traceloop.entity.output', ...outputRow },
    // The same again.
    { key: 'gen_ai.task.input', raw: 'input', ...inputRow },
    { key: 'gen_ai.task.output', raw: 'output', ...outputRow },
  ];
}

export const OPENLLMETRY: Convention = {
  name: 'openllmetry',
  kinds: [
    // A retriever is a task as well.
    { key: 'gen_ai.operation.name', kinds: { vector_db_retrieve: 'retriever' } },
    {
      key: 'traceloop.span.kind',
      kinds: kindsOf({
        tool: ['tool'],
        // A workflow is the outermost one: its output is the answer.
        agent: ['agent', 'workflow'],
        chain: ['task'],
        other: ['session', 'server', 'handoff'],
      }),
    },
    {
      key: 'llm.request.type',
      kinds: { chat: 'llm', completion: 'llm', embedding: 'embedding', rerank: 'other' },
    },
  ],
  attributes: [
    {
      prefix: 'gen_ai.prompt.',
      read: { as: 'flattened', side: 'input', renamed: { user: 'content' } },
    },
    { key: 'traceloop.prompt.template_variables', raw: 'input', read: structure('step_input') },
    {
      key: 'mcp.request.argument',
      read: structure(INPUT_SURFACE, {
        name: ['name'],
        take: ['arguments'],
        beside: ['meta', '_meta', 'task'],
      }),
    },
    { prefix: 'mcp.request.argument.', read: structure(INPUT_SURFACE) },
    ...entityRows(ARGUMENTS),
    { key: 'mcp.response.value', read: structure('tool_result') },
    { prefix: 'gen_ai.completion.', read: { as: 'flattened', side: 'output' } },
  ],
  run: {
    names: {
      agentName: { 'traceloop.workflow.name': 40 },
      sessionId: {
        'traceloop.association.properties.conversation_id': 40,
        'traceloop.association.properties.session_id': 50,
        'traceloop.association.properties.thread_id': 60,
        'traceloop.association.properties.chat_id': 70,
      },
      userId: { 'traceloop.association.properties.user_id': 40, 'gen_ai.user': 60, 'llm.user': 80 },
    },
    failure: { key: 'gen_ai.task.status', values: ['failure'] },
    placeholders: ['FILTERED'],
  },
};
