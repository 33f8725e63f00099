/**
 * MLflow Tracing (mlflow/mlflow `mlflow/tracing/constant.py`, `mlflow/tracing/otel/translation/base.py`),
 * sent over OTLP. It writes every attribute as JSON, so that a word comes in quotes. Data only.
 *
 * Left out: `mlflow.chat.tools`, `mlflow.traceTag.*` and other tags, usage, ids; what embeddings gave,
 * which is vectors; the events `mlflow.chunk.item.*`, bits of what `mlflow.spanOutputs` tells whole
 * (of an answer that broke off they are all there is, and not read).
 */
import type { Convention } from '../../reader/convention.ts';
import { INPUT_SURFACE, OUTPUT_SURFACE } from '../../reader/step-surfaces.ts';

export const MLFLOW: Convention = {
  name: 'mlflow',
  kinds: [
    {
      key: 'mlflow.spanType',
      // `unknown`, and names that users invent, say nothing: what else the step shows counts.
      kinds: {
        tool: 'tool',
        llm: 'llm',
        chat_model: 'llm',
        agent: 'agent',
        chain: 'chain',
        workflow: 'chain',
        task: 'chain',
        parser: 'chain',
        retriever: 'retriever',
        embedding: 'embedding',
        reranker: 'other',
        memory: 'other',
        guardrail: 'other',
        evaluator: 'other',
      },
    },
  ],
  attributes: [
    {
      key: 'mlflow.spanFunctionName',
      onKinds: ['tool'],
      read: { as: 'text', surface: 'tool_name' },
    },
    {
      key: 'mlflow.spanInputs',
      read: {
        as: 'exchange',
        encoded: true,
        side: 'input',
        surface: INPUT_SURFACE,
      },
    },
    {
      key: 'mlflow.spanOutputs',
      notOnKinds: ['embedding'],
      read: {
        as: 'exchange',
        encoded: true,
        side: 'output',
        surface: OUTPUT_SURFACE,
      },
    },
  ],
  events: [],
  run: {
    names: {
      model: { 'mlflow.llm.model': 80 },
      sessionId: { 'mlflow.trace.session': 220 },
      userId: { 'mlflow.trace.user': 180 },
    },
  },
};
