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
import { exchange, kindsOf, messages, text } from '../rows.ts';

export const VOLTAGENT: Convention = {
  name: 'voltagent',
  appliesTo: {
    scopes: ['@voltagent/'],
    attributes: ['voltagent.operation_id', 'voltagent.conversation_id', 'voltagent.is_subagent'],
  },
  kinds: [
    {
      key: 'span.type',
      kinds: kindsOf({
        tool: ['tool'],
        llm: ['llm', 'summary'],
        agent: ['agent'],
        chain: ['workflow-step'],
        retriever: ['retriever', 'vector'],
        embedding: ['embedding'],
        other: ['memory', 'guardrail', 'middleware'],
      }),
    },
    // On all below an agent this is the agent's.
    { key: 'entity.type', kinds: { agent: 'agent', workflow: 'chain' } },
  ],
  attributes: [
    { key: 'agent.messages', read: messages('input') },
    { key: 'llm.messages', read: messages('input') },
    { key: 'tool.name', read: text('tool_name') },
    { key: 'input', read: exchange('input', INPUT_SURFACE) },
    { key: 'output', notOnKinds: ['embedding'], read: exchange('output', OUTPUT_SURFACE) },
  ],
  run: {
    names: { model: { 'ai.model.name': 90 }, sessionId: { 'voltagent.conversation_id': 150 } },
  },
};
