import { createOpenAI } from '@ai-sdk/openai';
import { Agent, createTool } from '@voltagent/core';
import { z } from 'zod';
import * as story from './story.ts';
import { observability } from './telemetry.mjs';

const parcels = new Agent({
  name: 'parcels',
  instructions: story.SYSTEM,
  model: createOpenAI({ baseURL: process.env.OPENAI_BASE_URL }).chat(story.MODEL),
  tools: [
    createTool({
      name: story.TOOL_NAME,
      description: story.TOOL_DESCRIPTION,
      parameters: z.object({ number: z.string() }),
      execute: async (input) => story.lookUpParcel(input),
    }),
  ],
  observability,
});
const { text } = await parcels.generateText(story.USER);
story.expectAnswer(text);
await observability.shutdown();
process.exit();
