import { FunctionTool, Gemini, InMemoryRunner, LlmAgent } from '@google/adk';
import { trace } from '@opentelemetry/api';
import { z } from 'zod';
import * as story from './story.ts';

const agent = new LlmAgent({
  name: 'parcels',
  model: new Gemini({ model: 'gemini-2.5-flash', apiKey: 'none' }),
  instruction: story.SYSTEM,
  tools: [
    new FunctionTool({
      name: story.TOOL_NAME,
      description: story.TOOL_DESCRIPTION,
      parameters: z.object({ number: z.string() }),
      execute: async (input) => story.lookUpParcel(input),
    }),
  ],
});
const runner = new InMemoryRunner({ agent, appName: 'parcels' });
const newMessage = { role: 'user', parts: [{ text: story.USER }] };
let answer = '';
for await (const { content } of runner.runEphemeral({ userId: 'user-1', newMessage })) {
  answer = content?.parts?.map(({ text }) => text ?? '').join('') ?? '';
}
story.expectAnswer(answer);
// A server keeps running; this program ends now.
await trace.getTracerProvider().getDelegate?.().forceFlush?.();
