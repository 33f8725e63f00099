import { createOpenAI } from '@ai-sdk/openai';
import { trace } from '@opentelemetry/api';
import { generateText, stepCountIs, tool } from 'ai';
import { z } from 'zod';
import * as story from './story.ts';

const { text } = await generateText({
  model: createOpenAI({ baseURL: process.env.OPENAI_BASE_URL }).chat(story.MODEL),
  system: story.SYSTEM,
  prompt: story.USER,
  tools: {
    [story.TOOL_NAME]: tool({
      description: story.TOOL_DESCRIPTION,
      inputSchema: z.object({ number: z.string() }),
      execute: async (input) => story.lookUpParcel(input),
    }),
  },
  stopWhen: stepCountIs(3),
  // To version 6.
  experimental_telemetry: {
    isEnabled: true,
    recordInputs: process.env.WITHHELD === undefined,
    recordOutputs: process.env.WITHHELD === undefined,
  },
  // From version 7 on.
  ...(process.env.WITHHELD === undefined
    ? {}
    : { telemetry: { recordInputs: false, recordOutputs: false } }),
});
story.expectAnswer(text);
// A server keeps running; this program ends now.
await trace.getTracerProvider().getDelegate?.().forceFlush?.();
