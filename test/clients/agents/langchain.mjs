import { ChatOpenAI } from '@langchain/openai';
import { createAgent, tool } from 'langchain';
import { z } from 'zod';
import * as story from './story.ts';

const agent = createAgent({
  model: new ChatOpenAI({ model: story.MODEL, apiKey: 'none' }),
  systemPrompt: story.SYSTEM,
  tools: [
    tool(async (input) => story.lookUpParcel(input), {
      name: story.TOOL_NAME,
      description: story.TOOL_DESCRIPTION,
      schema: z.object({ number: z.string() }),
    }),
  ],
});
const { messages } = await agent.invoke({ messages: [{ role: 'user', content: story.USER }] });
story.expectAnswer(messages.at(-1).text);
