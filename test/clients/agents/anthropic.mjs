import Anthropic from '@anthropic-ai/sdk';
import * as story from './story.ts';

const anthropic = new Anthropic();
const request = {
  model: 'claude-sonnet-4-5',
  max_tokens: 1000,
  system: story.SYSTEM,
  tools: [
    {
      name: story.TOOL_NAME,
      description: story.TOOL_DESCRIPTION,
      input_schema: story.TOOL_PARAMETERS,
    },
  ],
};
const messages = [{ role: 'user', content: story.USER }];

const { content } = await anthropic.messages.create({ ...request, messages });
const call = content.find(({ type }) => type === 'tool_use');
const result = {
  type: 'tool_result',
  tool_use_id: call.id,
  content: story.lookUpParcel(call.input),
};
messages.push({ role: 'assistant', content }, { role: 'user', content: [result] });

// The answer is streamed.
const stream = await anthropic.messages.create({ ...request, messages, stream: true });
let answer = '';
for await (const event of stream) answer += event.delta?.text ?? '';
story.expectAnswer(answer);
