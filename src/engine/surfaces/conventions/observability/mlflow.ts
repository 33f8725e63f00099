/**
 * MLflow Tracing (mlflow/mlflow `mlflow/tracing/constant.py`, `mlflow/tracing/otel/translation/base.py`),
 * sent over OTLP. It writes every attribute as JSON, a string too. Data only.
 *
 * Left out: `mlflow.chat.tools`, `mlflow.traceTag.*` and other tags, usage, ids; the vectors of
 * embeddings; the events `mlflow.chunk.item.*`, chunks of `mlflow.spanOutputs` (an answer that broke
 * off has nothing else, and is not read).
 */
import type { Convention } from '../../reader/convention.ts';
import { INPUT_SURFACE, OUTPUT_SURFACE } from '../../reader/step-surfaces.ts';
import { kindsOf, text } from '../rows.ts';

export const MLFLOW: Convention = {
  name: 'mlflow',
  kinds: [
    {
      key: 'mlflow.spanType',
      // `unknown`, and users' own names, show nothing: other rows decide.
      kinds: kindsOf({
        tool: ['tool'],
        llm: ['llm', 'chat_model'],
        agent: ['agent'],
        chain: ['chain', 'workflow', 'task', 'parser'],
        retriever: ['retriever'],
        embedding: ['embedding'],
        other: ['reranker', 'memory', 'guardrail', 'evaluator'],
      }),
    },
  ],
  attributes: [
    { key: 'mlflow.spanFunctionName', onKinds: ['tool'], read: text('tool_name') },
    {
      key: 'mlflow.spanInputs',
      read: { as: 'exchange', encoded: true, side: 'input', surface: INPUT_SURFACE },
    },
    {
      key: 'mlflow.spanOutputs',
      notOnKinds: ['embedding'],
      read: { as: 'exchange', encoded: true, side: 'output', surface: OUTPUT_SURFACE },
    },
  ],
  run: {
    names: {
      model: { 'mlflow.llm.model': 80 },
      sessionId: { 'mlflow.trace.session': 220 },
      userId: { 'mlflow.trace.user': 180 },
    },
  },
};
