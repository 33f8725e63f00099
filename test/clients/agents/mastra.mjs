import { createOpenAI } from '@ai-sdk/openai';
import { Agent } from '@mastra/core/agent';
import { Mastra } from '@mastra/core/mastra';
import { createTool } from '@mastra/core/tools';
import { z } from 'zod';
import * as story from './story.ts';
import { observability } from './telemetry.mjs';

const lookUp = createTool({
  id: story.TOOL_NAME,
  description: story.TOOL_DESCRIPTION,
  inputSchema: z.object({ number: z.string() }),
  execute: async (input) => story.lookUpParcel(input),
});
const parcels = new Agent({
  id: 'parcels',
  name: 'parcels',
  instructions: story.SYSTEM,
  model: createOpenAI({ baseURL: process.env.OPENAI_BASE_URL }).chat(story.MODEL),
  tools: { [story.TOOL_NAME]: lookUp },
});
const mastra = new Mastra({ agents: { parcels }, observability, logger: false });
const { text } = await mastra.getAgent('parcels').generate(story.USER);
story.expectAnswer(text);
await observability.shutdown();
process.exit();
