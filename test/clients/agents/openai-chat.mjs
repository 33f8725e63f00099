import OpenAI from 'openai';
import * as story from './story.ts';

const openai = new OpenAI();
const request = {
  model: story.MODEL,
  tools: [
    {
      type: 'function',
      function: {
        name: story.TOOL_NAME,
        description: story.TOOL_DESCRIPTION,
        parameters: story.TOOL_PARAMETERS,
      },
    },
  ],
};
const messages = [
  { role: 'system', content: story.SYSTEM },
  { role: 'user', content: story.USER },
];

const first = await openai.chat.completions.create({ ...request, messages });
const { message } = first.choices[0];
const [call] = message.tool_calls;
const content = story.lookUpParcel(JSON.parse(call.function.arguments));
messages.push(message, { role: 'tool', tool_call_id: call.id, content });

// The answer is streamed.
const stream = await openai.chat.completions.create({ ...request, messages, stream: true });
let answer = '';
for await (const { choices } of stream) answer += choices[0]?.delta.content ?? '';
story.expectAnswer(answer);
