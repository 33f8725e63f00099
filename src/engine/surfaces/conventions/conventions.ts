/**
 * Lists every convention, in the order in which a step's kind is determined and its texts are read: a
 * product's own before the general ones, because it may use their attributes in its own way. A new
 * product is a file and a line here.
 */

import type { Convention } from '../reader/convention.ts';
import { CLAUDE_CODE } from './coding-agents/claude-code.ts';
import { CODEX } from './coding-agents/codex.ts';
import { GEMINI_CLI } from './coding-agents/gemini-cli.ts';
import { GITHUB_COPILOT } from './coding-agents/github-copilot.ts';
import { GOOSE } from './coding-agents/goose.ts';
import { OPENCLAW } from './coding-agents/openclaw.ts';
import { AGENTSCOPE } from './frameworks/agentscope.ts';
import { CREWAI } from './frameworks/crewai.ts';
import { FLUE } from './frameworks/flue.ts';
import { GENKIT } from './frameworks/genkit.ts';
import { GOOGLE_ADK, GOOGLE_GENAI } from './frameworks/google-adk.ts';
import { HAYSTACK } from './frameworks/haystack.ts';
import { LITELLM } from './frameworks/litellm.ts';
import { LIVEKIT } from './frameworks/livekit.ts';
import { MASTRA } from './frameworks/mastra.ts';
import { MICROSOFT } from './frameworks/microsoft.ts';
import { OPENAI_AGENTS } from './frameworks/openai-agents.ts';
import { PIPECAT } from './frameworks/pipecat.ts';
import { PYDANTIC_AI } from './frameworks/pydantic-ai.ts';
import { SPRING_AI } from './frameworks/spring-ai.ts';
import { STRANDS } from './frameworks/strands.ts';
import { VERCEL_AI_SDK } from './frameworks/vercel-ai-sdk.ts';
import { VOLTAGENT } from './frameworks/voltagent.ts';
import { AWS_ADOT } from './observability/aws-adot.ts';
import { BRAINTRUST } from './observability/braintrust.ts';
import { LAMINAR } from './observability/laminar.ts';
import { LANGFUSE } from './observability/langfuse.ts';
import { LANGSMITH, LANGSMITH_SDK } from './observability/langsmith.ts';
import { LOGFIRE, LOGFIRE_OPENAI_AGENTS, LOGFIRE_PENDING } from './observability/logfire.ts';
import { MLFLOW } from './observability/mlflow.ts';
import { OPENINFERENCE } from './observability/openinference.ts';
import { OPENLIT } from './observability/openlit.ts';
import { OPENLLMETRY } from './observability/openllmetry.ts';
import { OPENLLMETRY_LANGCHAIN } from './observability/openllmetry-langchain.ts';
import { SENTRY } from './observability/sentry.ts';
import { TRACE_AI } from './observability/trace-ai.ts';
import { VECTOR_DATABASES } from './observability/vector-databases.ts';
import { LOGFIRE_MCP, MCP } from './opentelemetry/mcp.ts';
import { OTEL_GENAI } from './opentelemetry/otel-genai.ts';
import { OTEL_GENAI_DEPRECATED } from './opentelemetry/otel-genai-deprecated.ts';
import { OTEL_INFRASTRUCTURE } from './opentelemetry/otel-infrastructure.ts';

export const CONVENTIONS: readonly Convention[] = [
  LOGFIRE_PENDING,
  CLAUDE_CODE,
  CODEX,
  GEMINI_CLI,
  GITHUB_COPILOT,
  GOOSE,
  OPENCLAW,
  GENKIT,
  MASTRA,
  LIVEKIT,
  VOLTAGENT,
  FLUE,
  AGENTSCOPE,
  HAYSTACK,
  PIPECAT,
  SENTRY,
  TRACE_AI,
  LANGFUSE,
  BRAINTRUST,
  LAMINAR,
  MLFLOW,
  LANGSMITH,
  LANGSMITH_SDK,
  OPENINFERENCE,
  VERCEL_AI_SDK,
  PYDANTIC_AI,
  LOGFIRE_MCP,
  LOGFIRE_OPENAI_AGENTS,
  LOGFIRE,
  GOOGLE_ADK,
  GOOGLE_GENAI,
  MICROSOFT,
  OPENAI_AGENTS,
  SPRING_AI,
  STRANDS,
  AWS_ADOT,
  MCP,
  LITELLM,
  OPENLLMETRY_LANGCHAIN,
  CREWAI,
  OPENLLMETRY,
  OPENLIT,
  VECTOR_DATABASES,
  OTEL_GENAI,
  OTEL_GENAI_DEPRECATED,
  OTEL_INFRASTRUCTURE,
];
