import { Agent, run, tool } from '@openai/agents';
import { z } from 'zod';
import * as story from './story.ts';

const agent = new Agent({
  name: 'parcels',
  model: story.MODEL,
  instructions: story.SYSTEM,
  tools: [
    tool({
      name: story.TOOL_NAME,
      description: story.TOOL_DESCRIPTION,
      parameters: z.object({ number: z.string() }),
      execute: async (input) => story.lookUpParcel(input),
    }),
  ],
});
const { finalOutput } = await run(agent, story.USER);
story.expectAnswer(finalOutput);
