/**
 * Where instrumentations put the tokens and the cost of a model call. Data only: the first attribute
 * that has a number counts. A row with a member reads a structure, or a string of JSON.
 */
import type { Usage } from '../../../model/step-details.ts';

export interface UsageRow {
  readonly key: string;
  readonly member?: string;
}

export const USAGE_ROWS: Readonly<Record<keyof Usage, readonly UsageRow[]>> = {
  inputTokens: [
    { key: 'gen_ai.usage.input_tokens' },
    { key: 'gen_ai.usage.prompt_tokens' },
    // OpenInference
    { key: 'llm.token_count.prompt' },
    // OpenLLMetry
    { key: 'llm.usage.prompt_tokens' },
    // Vercel AI SDK, version 5 and before
    { key: 'ai.usage.inputTokens' },
    { key: 'ai.usage.promptTokens' },
    // Langfuse, MLflow, Braintrust
    { key: 'langfuse.observation.usage_details', member: 'input' },
    { key: 'mlflow.chat.tokenUsage', member: 'input_tokens' },
    { key: 'braintrust.metrics', member: 'prompt_tokens' },
    // Claude Code; Codex and Gemini CLI
    { key: 'input_tokens' },
    { key: 'input_token_count' },
  ],
  outputTokens: [
    { key: 'gen_ai.usage.output_tokens' },
    { key: 'gen_ai.usage.completion_tokens' },
    { key: 'llm.token_count.completion' },
    { key: 'llm.usage.completion_tokens' },
    { key: 'ai.usage.outputTokens' },
    { key: 'ai.usage.completionTokens' },
    { key: 'langfuse.observation.usage_details', member: 'output' },
    { key: 'mlflow.chat.tokenUsage', member: 'output_tokens' },
    { key: 'braintrust.metrics', member: 'completion_tokens' },
    { key: 'output_tokens' },
    { key: 'output_token_count' },
  ],
  costUsd: [
    // OpenLIT and Laminar; LiteLLM; OpenInference; Pydantic AI
    { key: 'gen_ai.usage.cost' },
    { key: 'gen_ai.cost.total_cost' },
    { key: 'llm.cost.total' },
    { key: 'operation.cost' },
    { key: 'langfuse.observation.cost_details', member: 'total' },
    // Claude Code
    { key: 'cost_usd' },
  ],
};
