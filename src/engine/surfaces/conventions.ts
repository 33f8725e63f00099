/**
 * Every convention read, in the order in which a step's kind is asked and its texts are told: a
 * producer's own before the general ones, which it may use in its own way.
 */
import { AWS_ADOT } from './aws-adot.ts';
import { BRAINTRUST } from './braintrust.ts';
import { CLAUDE_CODE } from './claude-code.ts';
import { CODEX } from './codex.ts';
import type { Convention } from './convention.ts';
import { CREWAI } from './crewai.ts';
import { FLUE } from './flue.ts';
import { GEMINI_CLI } from './gemini-cli.ts';
import { GENKIT } from './genkit.ts';
import { GITHUB_COPILOT } from './github-copilot.ts';
import { GOOGLE_ADK, GOOGLE_GENAI } from './google-adk.ts';
import { LAMINAR } from './laminar.ts';
import { LANGFUSE } from './langfuse.ts';
import { LANGSMITH, LANGSMITH_SDK } from './langsmith.ts';
import { LITELLM } from './litellm.ts';
import { LIVEKIT } from './livekit.ts';
import { LOGFIRE, LOGFIRE_OPENAI_AGENTS, LOGFIRE_PENDING } from './logfire.ts';
import { MASTRA } from './mastra.ts';
import { LOGFIRE_MCP, MCP } from './mcp.ts';
import { MICROSOFT } from './microsoft.ts';
import { MLFLOW } from './mlflow.ts';
import { OPENAI_AGENTS } from './openai-agents.ts';
import { OPENINFERENCE } from './openinference.ts';
import { OPENLIT } from './openlit.ts';
import { OPENLLMETRY } from './openllmetry.ts';
import { OPENLLMETRY_LANGCHAIN } from './openllmetry-langchain.ts';
import { OTEL_GENAI } from './otel-genai.ts';
import { OTEL_GENAI_DEPRECATED } from './otel-genai-deprecated.ts';
import { OTEL_INFRASTRUCTURE } from './otel-infrastructure.ts';
import { PYDANTIC_AI } from './pydantic-ai.ts';
import { SPRING_AI } from './spring-ai.ts';
import { STRANDS } from './strands.ts';
import { VECTOR_DATABASES } from './vector-databases.ts';
import { VERCEL_AI_SDK } from './vercel-ai-sdk.ts';
import { VOLTAGENT } from './voltagent.ts';

export const CONVENTIONS: readonly Convention[] = [
  LOGFIRE_PENDING,
  CLAUDE_CODE,
  CODEX,
  GEMINI_CLI,
  GITHUB_COPILOT,
  GENKIT,
  MASTRA,
  LIVEKIT,
  VOLTAGENT,
  FLUE,
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
