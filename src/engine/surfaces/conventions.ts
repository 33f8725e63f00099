/**
 * Every convention read, in the order in which a step's kind is asked and its texts are told: a
 * producer's own before the general ones, which it may use in its own way.
 */
import type { Convention } from './convention.ts';
import { OPENINFERENCE } from './openinference.ts';
import { OTEL_GENAI } from './otel-genai.ts';
import { OTEL_GENAI_DEPRECATED } from './otel-genai-deprecated.ts';
import { OTEL_INFRASTRUCTURE } from './otel-infrastructure.ts';
import { VERCEL_AI_SDK } from './vercel-ai-sdk.ts';

export const CONVENTIONS: readonly Convention[] = [
  OPENINFERENCE,
  VERCEL_AI_SDK,
  OTEL_GENAI,
  OTEL_GENAI_DEPRECATED,
  OTEL_INFRASTRUCTURE,
];
