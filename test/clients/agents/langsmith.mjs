import { traceable } from 'langsmith/traceable';
import { wrapOpenAI } from 'langsmith/wrappers';
import OpenAI from 'openai';
import * as story from './story.ts';

const openai = wrapOpenAI(new OpenAI());
const lookUp = traceable(async (input) => story.lookUpParcel(input), {
  name: story.TOOL_NAME,
  run_type: 'tool',
});
const parameters = story.TOOL_PARAMETERS;
const declaration = { name: story.TOOL_NAME, description: story.TOOL_DESCRIPTION, parameters };
const request = { model: story.MODEL, tools: [{ type: 'function', function: declaration }] };

const parcels = traceable(
  async (question) => {
    const messages = [
      { role: 'system', content: story.SYSTEM },
      { role: 'user', content: question },
    ];
    const first = await openai.chat.completions.create({ ...request, messages });
    const { message } = first.choices[0];
    const [call] = message.tool_calls;
    const content = await lookUp(JSON.parse(call.function.arguments));
    messages.push(message, { role: 'tool', tool_call_id: call.id, content });
    const second = await openai.chat.completions.create({ ...request, messages });
    return second.choices[0].message.content;
  },
  { name: 'parcels' },
);
story.expectAnswer(await parcels(story.USER));
