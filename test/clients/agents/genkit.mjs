import { openAI } from '@genkit-ai/compat-oai/openai';
import { genkit, z } from 'genkit';
import * as story from './story.ts';

const ai = genkit({ plugins: [openAI({ apiKey: 'none' })] });
const lookUp = ai.defineTool(
  {
    name: story.TOOL_NAME,
    description: story.TOOL_DESCRIPTION,
    inputSchema: z.object({ number: z.string() }),
    outputSchema: z.string(),
  },
  async (input) => story.lookUpParcel(input),
);
const { text } = await ai.generate({
  model: openAI.model(story.MODEL),
  system: story.SYSTEM,
  prompt: story.USER,
  tools: [lookUp],
});
story.expectAnswer(text);
