import { observeOpenAI } from '@langfuse/openai';
import { startActiveObservation } from '@langfuse/tracing';
import OpenAI from 'openai';
import * as story from './story.ts';

const openai = observeOpenAI(new OpenAI());
const parameters = story.TOOL_PARAMETERS;
const declaration = { name: story.TOOL_NAME, description: story.TOOL_DESCRIPTION, parameters };
const request = { model: story.MODEL, tools: [{ type: 'function', function: declaration }] };
const messages = [
  { role: 'system', content: story.SYSTEM },
  { role: 'user', content: story.USER },
];

await startActiveObservation(
  'parcels',
  async (agent) => {
    agent.update({ input: story.USER });
    const first = await openai.chat.completions.create({ ...request, messages });
    const { message } = first.choices[0];
    const [call] = message.tool_calls;
    const content = await startActiveObservation(
      story.TOOL_NAME,
      async (step) => {
        const input = JSON.parse(call.function.arguments);
        const output = story.lookUpParcel(input);
        step.update({ input, output });
        return output;
      },
      { asType: 'tool' },
    );
    messages.push(message, { role: 'tool', tool_call_id: call.id, content });
    const second = await openai.chat.completions.create({ ...request, messages });
    const answer = second.choices[0].message.content;
    agent.update({ output: answer });
    story.expectAnswer(answer);
  },
  { asType: 'agent' },
);
