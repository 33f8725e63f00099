/**
 * Every convention read, in the order in which a step's kind is asked and its texts are told: a
 * producer's own before the general ones, which it may use in its own way.
 */
import { CLAUDE_CODE } from './claude-code.ts';
import { CODEX } from './codex.ts';
import type { Convention } from './convention.ts';
import { CREWAI } from './crewai.ts';
import { GEMINI_CLI } from './gemini-cli.ts';
import { GITHUB_COPILOT } from './github-copilot.ts';
import { LITELLM } from './litellm.ts';
import { OPENINFERENCE } from './openinference.ts';
import { OPENLIT } from './openlit.ts';
import { OPENLLMETRY } from './openllmetry.ts';
import { OPENLLMETRY_LANGCHAIN } from './openllmetry-langchain.ts';
import { OTEL_GENAI } from './otel-genai.ts';
import { OTEL_GENAI_DEPRECATED } from './otel-genai-deprecated.ts';
import { OTEL_INFRASTRUCTURE } from './otel-infrastructure.ts';
import { VECTOR_DATABASES } from './vector-databases.ts';
import { VERCEL_AI_SDK } from './vercel-ai-sdk.ts';

export const CONVENTIONS: readonly Convention[] = [
  CLAUDE_CODE,
  CODEX,
  GEMINI_CLI,
  GITHUB_COPILOT,
  OPENINFERENCE,
  VERCEL_AI_SDK,
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
