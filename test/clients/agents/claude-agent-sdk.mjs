import { createSdkMcpServer, query, tool } from '@anthropic-ai/claude-agent-sdk';
import { z } from 'zod';
import * as story from './story.ts';

const lookUp = tool(
  story.TOOL_NAME,
  story.TOOL_DESCRIPTION,
  { number: z.string() },
  async (input) => ({ content: [{ type: 'text', text: story.lookUpParcel(input) }] }),
);
const options = {
  systemPrompt: story.SYSTEM,
  tools: [],
  mcpServers: { parcels: createSdkMcpServer({ name: 'parcels', tools: [lookUp] }) },
  allowedTools: [`mcp__parcels__${story.TOOL_NAME}`],
};
let answer = '';
for await (const message of query({ prompt: story.USER, options })) {
  if (message.type === 'result') answer = message.result;
}
story.expectAnswer(answer);
