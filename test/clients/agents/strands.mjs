import { Agent, tool } from '@strands-agents/sdk';
import { OpenAIModel } from '@strands-agents/sdk/models/openai';
import { z } from 'zod';
import * as story from './story.ts';

const lookUp = tool({
  name: story.TOOL_NAME,
  description: story.TOOL_DESCRIPTION,
  inputSchema: z.object({ number: z.string() }),
  callback: (input) => story.lookUpParcel(input),
});
const agent = new Agent({
  name: 'parcels',
  model: new OpenAIModel({ api: 'chat', modelId: story.MODEL }),
  systemPrompt: story.SYSTEM,
  tools: [lookUp],
  printer: false,
});
const result = await agent.invoke(story.USER);
story.expectAnswer(result.toString());
