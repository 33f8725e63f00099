import { observe } from '@lmnr-ai/lmnr';
import OpenAI from 'openai';
import * as story from './story.ts';

const openai = new OpenAI();
const parameters = story.TOOL_PARAMETERS;
const declaration = { name: story.TOOL_NAME, description: story.TOOL_DESCRIPTION, parameters };
const request = { model: story.MODEL, tools: [{ type: 'function', function: declaration }] };

async function parcels(question) {
  const messages = [
    { role: 'system', content: story.SYSTEM },
    { role: 'user', content: question },
  ];
  const first = await openai.chat.completions.create({ ...request, messages });
  const { message } = first.choices[0];
  const [call] = message.tool_calls;
  const content = await observe(
    { name: story.TOOL_NAME, spanType: 'TOOL' },
    async (input) => story.lookUpParcel(input),
    JSON.parse(call.function.arguments),
  );
  messages.push(message, { role: 'tool', tool_call_id: call.id, content });
  const second = await openai.chat.completions.create({ ...request, messages });
  return second.choices[0].message.content;
}
story.expectAnswer(await observe({ name: 'parcels' }, parcels, story.USER));
