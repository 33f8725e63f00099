import OpenAI from 'openai';
import * as story from './story.ts';

const openai = new OpenAI();
const request = {
  model: story.MODEL,
  instructions: story.SYSTEM,
  tools: [
    {
      type: 'function',
      name: story.TOOL_NAME,
      description: story.TOOL_DESCRIPTION,
      parameters: story.TOOL_PARAMETERS,
      strict: true,
    },
  ],
};
const input = [{ role: 'user', content: story.USER }];

const { output } = await openai.responses.create({ ...request, input });
const call = output.find(({ type }) => type === 'function_call');
const result = story.lookUpParcel(JSON.parse(call.arguments));
input.push(call, { type: 'function_call_output', call_id: call.call_id, output: result });

// The answer is streamed.
const stream = await openai.responses.create({ ...request, input, stream: true });
let answer = '';
for await (const event of stream) {
  if (event.type === 'response.output_text.delta') answer += event.delta;
}
story.expectAnswer(answer);
