/**
 * VoltAgent (VoltAgent/voltagent `packages/core/src/agent/open-telemetry/trace-context.ts`,
 * mlflow/mlflow `mlflow/tracing/otel/translation/voltagent.py`): plain keys, read on its spans only. It
 * writes a string as it is and anything else as JSON. Data only.
 *
 * Left out: `agent.instructions` (the operator's), `tool.description` and `tool.parameters`, `ai.model.*`,
 * usage, ids, `error.stack`.
 */
import type { Convention } from '../../reader/convention.ts';
import { INPUT_SURFACE, OUTPUT_SURFACE } from '../../reader/step-surfaces.ts';

export const VOLTAGENT: Convention = {
  name: 'voltagent',
  appliesTo: {
    scopes: ['@voltagent/'],
    attributes: ['voltagent.operation_id', 'voltagent.conversation_id', 'voltagent.is_subagent'],
  },
  kinds: [
    {
      key: 'span.type',
      kinds: {
        tool: 'tool',
        llm: 'llm',
        summary: 'llm',
        agent: 'agent',
        'workflow-step': 'chain',
        retriever: 'retriever',
        vector: 'retriever',
        embedding: 'embedding',
        memory: 'other',
        guardrail: 'other',
        middleware: 'other',
      },
    },
    // On all below an agent this is the agent's.
    { key: 'entity.type', kinds: { agent: 'agent', workflow: 'chain' } },
  ],
  attributes: [
    { key: 'agent.messages', read: { as: 'messages', side: 'input' } },
    { key: 'llm.messages', read: { as: 'messages', side: 'input' } },
    { key: 'tool.name', read: { as: 'text', surface: 'tool_name' } },
    { key: 'input', read: { as: 'exchange', side: 'input', surface: INPUT_SURFACE } },
    {
      key: 'output',
      notOnKinds: ['embedding'],
      read: { as: 'exchange', side: 'output', surface: OUTPUT_SURFACE },
    },
  ],
  run: {
    names: { model: { 'ai.model.name': 90 }, sessionId: { 'voltagent.conversation_id': 150 } },
  },
};
