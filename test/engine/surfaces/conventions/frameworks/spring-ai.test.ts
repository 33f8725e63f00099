/**
 * Spring AI (Spring AI's reference, page "Observability"; for the span events of its early versions
 * mlflow `mlflow/tracing/otel/translation/spring_ai.py`). Contents are invented.
 */
import { expect, it } from 'vitest';
import { log, operation, span } from '../../../steps.ts';
import { extractSurfaces } from '../../extract-surfaces.ts';
import { read } from '../../read.ts';

it('prompt and completion, as content events of the span', () => {
  const step = {
    ...operation('chat', { 'gen_ai.system': 'openai', 'gen_ai.request.model': 'gpt-4o' }),
    events: [
      {
        name: 'gen_ai.content.prompt',
        attributes: { 'gen_ai.prompt': ['Be brief.', 'Will it rain?'] },
      },
      { name: 'gen_ai.content.completion', attributes: { 'gen_ai.completion': ['Yes.'] } },
    ],
  };
  expect(read(step)).toEqual([
    'step_input: Be brief.',
    'step_input: Will it rain?',
    'agent_output: Yes.',
  ]);
  expect(extractSurfaces([step]).kinds).toEqual(['llm']);
});

it('one text instead of a list', () => {
  const step = {
    ...operation('chat'),
    events: [
      { name: 'gen_ai.content.prompt', attributes: { 'gen_ai.prompt': 'Will it rain?' } },
      { name: 'gen_ai.content.completion', attributes: { 'gen_ai.completion': 'Yes.' } },
    ],
  };
  expect(read(step)).toEqual(['step_input: Will it rain?', 'agent_output: Yes.']);
});

it('text that it logs instead is output of its span', () => {
  const record = log({ body: 'Chat Model Completion:\n["Yes."]' });
  expect(read(span(), record)).toEqual(['step_output: Chat Model Completion:\n["Yes."]']);
});

it('a tool', () => {
  const step = span({
    name: 'tool_call search',
    attributes: {
      'gen_ai.operation.name': 'framework',
      'gen_ai.system': 'spring_ai',
      'spring.ai.kind': 'tool_call',
      'spring.ai.tool.definition.name': 'search',
      'spring.ai.tool.definition.description': 'Searches.',
      'spring.ai.tool.definition.schema': '{"type":"object"}',
      'spring.ai.tool.call.id': '1',
      'spring.ai.tool.call.arguments': '{"q":"rain"}',
      'spring.ai.tool.call.result': '"at noon"',
    },
  });
  expect(read(step)).toEqual([
    'tool_name: search',
    'tool_args: {"q":"rain"}',
    'tool_args: rain',
    'tool_result: "at noon"',
    'tool_result: at noon',
  ]);
  expect(extractSurfaces([step]).kinds).toEqual(['tool']);
});

it('a chat client and a store', () => {
  const client = span({
    attributes: {
      'gen_ai.operation.name': 'framework',
      'spring.ai.kind': 'chat_client',
      'spring.ai.chat.client.user.text': 'Will it rain?',
      'spring.ai.chat.client.system.text': 'Be brief.',
      'spring.ai.chat.client.conversation.id': 'c-1',
      'gen_ai.prompt': 'Will it rain?',
    },
  });
  const store = span({
    attributes: {
      'spring.ai.kind': 'vector_store',
      'db.operation.name': 'query',
      'db.vector.query.content': 'rain',
      'db.vector.query.filter': "city == 'Oslo'",
      'db.vector.query.response.documents': '["at noon"]',
    },
  });
  expect(read(client, store)).toEqual([
    'step_input: Will it rain?',
    'query_text: rain',
    'tool_result: ["at noon"]',
    'tool_result: at noon',
    "query_text: city == 'Oslo'",
  ]);
  expect(extractSurfaces([client, store]).kinds).toEqual(['agent', 'retriever']);
});
