/**
 * OpenInference (Arize): messages flattened into attributes, one for each part, and beside them the raw
 * request and answer of the model.
 */
import type { JsonObject, JsonValue } from '../../../src/model/json.ts';
import type { ModelCall } from '../conversation.ts';
import type { ToolDefinition } from '../services.ts';
import { answerIn, callsTo, resultText, type Shape, tokensOf } from './shape.ts';

const JSON_TYPE = 'application/json';

/** A message in OpenAI's form. */
interface Message extends JsonObject {
  role: string;
}

function assistantMessage({ said, tool }: ModelCall): Message {
  if (tool === null) return { role: 'assistant', content: said };
  const call = { name: tool.name, arguments: JSON.stringify(tool.arguments) };
  return {
    role: 'assistant',
    content: said,
    tool_calls: [{ id: tool.id, type: 'function', function: call }],
  };
}

function exchangeOf(call: ModelCall): Message[] {
  const said = assistantMessage(call);
  if (call.tool === null) return [said];
  return [said, { role: 'tool', tool_call_id: call.tool.id, content: resultText(call.tool) }];
}

function flattened(list: string, messages: readonly Message[]): Record<string, JsonValue> {
  const entries = messages.flatMap(({ role, content, tool_call_id, tool_calls }, index) => {
    const at = `${list}.${index}.message`;
    const calls = (tool_calls ?? []) as { id: string; function: Record<string, string> }[];
    return [
      [`${at}.role`, role],
      [`${at}.content`, content],
      [`${at}.tool_call_id`, tool_call_id],
      ...calls.flatMap(({ id, function: called }, number) => [
        [`${at}.tool_calls.${number}.tool_call.id`, id],
        [`${at}.tool_calls.${number}.tool_call.function.name`, called.name],
        [`${at}.tool_calls.${number}.tool_call.function.arguments`, called.arguments],
      ]),
    ];
  });
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

const asTool = (tool: ToolDefinition): JsonObject => ({ type: 'function', function: { ...tool } });

export const OPENINFERENCE: Shape = {
  name: 'OpenInference',
  scope: { name: '@arizeai/openinference-instrumentation-openai', version: '4.2.7' },
  agent: ({ agent }, conversation) => ({
    name: agent,
    kind: 'internal',
    attributes: {
      'openinference.span.kind': 'AGENT',
      'agent.name': agent,
      'input.value': conversation.question,
      'input.mime_type': 'text/plain',
      'output.value': answerIn(conversation),
      'output.mime_type': 'text/plain',
    },
  }),
  model: ({ model, system, tools }, conversation, place) => {
    const { before, own } = callsTo(conversation, place);
    const input: Message[] = [
      { role: 'system', content: system },
      { role: 'user', content: conversation.question },
      ...before.flatMap(exchangeOf),
    ];
    const output = assistantMessage(own);
    const settings = { model, temperature: 0.2 };
    const request = JSON.stringify({ ...settings, messages: input, tools: tools.map(asTool) });
    const finished = own.tool === null ? 'stop' : 'tool_calls';
    const choice = { index: 0, message: output, finish_reason: finished };
    const response = JSON.stringify({ object: 'chat.completion', model, choices: [choice] });
    const [prompt, completion] = [tokensOf(request), tokensOf(own.said)];
    return {
      name: 'OpenAI Chat Completions',
      kind: 'internal',
      attributes: {
        'openinference.span.kind': 'LLM',
        'llm.model_name': `${model}-2025-04-14`,
        'llm.system': 'openai',
        'llm.provider': 'openai',
        'llm.invocation_parameters': JSON.stringify(settings),
        'input.value': request,
        'input.mime_type': JSON_TYPE,
        ...flattened('llm.input_messages', input),
        ...Object.fromEntries(
          tools.map((tool, index) => [
            `llm.tools.${index}.tool.json_schema`,
            JSON.stringify(asTool(tool)),
          ]),
        ),
        'output.value': response,
        'output.mime_type': JSON_TYPE,
        ...flattened('llm.output_messages', [output]),
        'llm.token_count.prompt': prompt,
        'llm.token_count.completion': completion,
        'llm.token_count.total': prompt + completion,
      },
    };
  },
  tool: ({ tools }, call) => ({
    name: call.name,
    kind: 'internal',
    attributes: {
      'openinference.span.kind': 'TOOL',
      'tool.name': call.name,
      'tool.description': tools.find(({ name }) => name === call.name)?.description ?? '',
      'input.value': JSON.stringify(call.arguments),
      'input.mime_type': JSON_TYPE,
      'output.value': resultText(call),
      'output.mime_type': typeof call.result === 'string' ? 'text/plain' : JSON_TYPE,
    },
  }),
};
