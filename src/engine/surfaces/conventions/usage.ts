/**
 * Where instrumentations put the tokens and the cost of a model call. Data only: the first attribute
 * that has a number counts. A row with a member reads a structure, or a string of JSON.
 */
import type { UsageField } from '../../../model/usage.ts';

export interface UsageRow {
  readonly key: string;
  readonly member?: string;
}

export const USAGE_ROWS: Readonly<Record<UsageField, readonly UsageRow[]>> = {
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
  cacheReadTokens: [
    { key: 'gen_ai.usage.cache_read.input_tokens' },
    // OpenLLMetry and others before the convention; Mastra
    { key: 'gen_ai.usage.cache_read_input_tokens' },
    { key: 'gen_ai.usage.cached_input_tokens' },
    // Pydantic AI
    { key: 'gen_ai.usage.details.cache_read_tokens' },
    { key: 'llm.token_count.prompt_details.cache_read' },
    { key: 'ai.usage.inputTokenDetails.cacheReadTokens' },
    { key: 'ai.usage.cachedInputTokens' },
    { key: 'langfuse.observation.usage_details', member: 'input_cached_tokens' },
    { key: 'langfuse.observation.usage_details', member: 'cache_read_input_tokens' },
    { key: 'mlflow.chat.tokenUsage', member: 'cache_read_input_tokens' },
    { key: 'braintrust.metrics', member: 'prompt_cached_tokens' },
    // Claude Code; Codex; Gemini CLI
    { key: 'cache_read_tokens' },
    { key: 'cached_token_count' },
    { key: 'cached_content_token_count' },
  ],
  cacheWriteTokens: [
    { key: 'gen_ai.usage.cache_write.input_tokens' },
    { key: 'gen_ai.usage.cache_creation.input_tokens' },
    { key: 'gen_ai.usage.cache_creation_input_tokens' },
    { key: 'gen_ai.usage.details.cache_write_tokens' },
    { key: 'llm.token_count.prompt_details.cache_write' },
    { key: 'ai.usage.inputTokenDetails.cacheWriteTokens' },
    { key: 'langfuse.observation.usage_details', member: 'cache_creation_input_tokens' },
    { key: 'mlflow.chat.tokenUsage', member: 'cache_creation_input_tokens' },
    { key: 'braintrust.metrics', member: 'prompt_cache_creation_tokens' },
    { key: 'cache_creation_tokens' },
  ],
  reasoningTokens: [
    { key: 'gen_ai.usage.reasoning.output_tokens' },
    { key: 'gen_ai.usage.reasoning_tokens' },
    { key: 'gen_ai.usage.details.reasoning_tokens' },
    { key: 'llm.token_count.completion_details.reasoning' },
    { key: 'ai.usage.outputTokenDetails.reasoningTokens' },
    { key: 'ai.usage.reasoningTokens' },
    { key: 'langfuse.observation.usage_details', member: 'output_reasoning_tokens' },
    { key: 'braintrust.metrics', member: 'completion_reasoning_tokens' },
    { key: 'reasoning_token_count' },
    { key: 'thoughts_token_count' },
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
