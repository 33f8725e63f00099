/** The Vercel AI SDK's own telemetry, versions 5 and 6: `ai.generateText`, its steps and tool calls. */
import type { JsonObject, JsonValue } from '../../../src/model/json.ts';
import type { Conversation, ModelCall, ToolCall } from '../conversation.ts';
import type { Service } from '../services.ts';
import { answerIn, callsTo, type Shape, tokensOf } from './shape.ts';

const OUTER = 'ai.generateText';
const STEP = 'ai.generateText.doGenerate';
const TOOL = 'ai.toolCall';

const userMessage = (question: string): JsonObject => ({
  role: 'user',
  content: [{ type: 'text', text: question }],
});

const outputOf = ({ result }: ToolCall): JsonObject =>
  typeof result === 'string'
    ? { type: 'text', value: result }
    : { type: 'json', value: result as JsonValue };

function exchangeOf({ said, tool }: ModelCall): JsonObject[] {
  const text = { type: 'text', text: said };
  if (tool === null) return [{ role: 'assistant', content: [text] }];
  const call = { toolCallId: tool.id, toolName: tool.name };
  return [
    {
      role: 'assistant',
      content: [text, { type: 'tool-call', ...call, input: tool.arguments }],
    },
    { role: 'tool', content: [{ type: 'tool-result', ...call, output: outputOf(tool) }] },
  ];
}

const base = (operation: string, { agent, model }: Service): Record<string, JsonValue> => ({
  'operation.name': `${operation} ${agent}`,
  'resource.name': agent,
  'ai.operationId': operation,
  'ai.telemetry.functionId': agent,
  'ai.model.provider': 'openai.responses',
  'ai.model.id': model,
});

function responseOf({ said, tool }: ModelCall): Record<string, JsonValue> {
  if (tool === null) return { 'ai.response.finishReason': 'stop', 'ai.response.text': said };
  const { id, name } = tool;
  const input = JSON.stringify(tool.arguments);
  return {
    'ai.response.finishReason': 'tool-calls',
    'ai.response.text': said,
    'ai.response.toolCalls': JSON.stringify([{ toolCallId: id, toolName: name, input }]),
  };
}

function stepAttributes(
  service: Service,
  conversation: Conversation,
  place: number,
): Record<string, JsonValue> {
  const { before, own } = callsTo(conversation, place);
  const messages = JSON.stringify([
    { role: 'system', content: service.system },
    userMessage(conversation.question),
    ...before.flatMap(exchangeOf),
  ]);
  const tools = service.tools.map(({ name, description, parameters }) =>
    JSON.stringify({ type: 'function', name, description, inputSchema: parameters }),
  );
  const [input, output] = [tokensOf(messages, ...tools), tokensOf(own.said)];
  return {
    ...base(STEP, service),
    'ai.settings.maxRetries': 2,
    'ai.prompt.messages': messages,
    'ai.prompt.tools': tools,
    'ai.prompt.toolChoice': '{"type":"auto"}',
    'gen_ai.system': 'openai.responses',
    'gen_ai.request.model': service.model,
    ...responseOf(own),
    'ai.response.model': `${service.model}-2025-04-14`,
    'ai.usage.inputTokens': input,
    'ai.usage.outputTokens': output,
    'ai.usage.totalTokens': input + output,
    'gen_ai.response.finish_reasons': [own.tool === null ? 'stop' : 'tool-calls'],
    'gen_ai.response.model': `${service.model}-2025-04-14`,
    'gen_ai.usage.input_tokens': input,
    'gen_ai.usage.output_tokens': output,
  };
}

export const AI_SDK: Shape = {
  name: 'AI SDK',
  scope: { name: 'ai', version: '' },
  agent: (service, conversation) => ({
    name: OUTER,
    kind: 'internal',
    attributes: {
      ...base(OUTER, service),
      'ai.settings.maxRetries': 2,
      'ai.prompt': JSON.stringify({ system: service.system, prompt: conversation.question }),
      'ai.response.finishReason': 'stop',
      'ai.response.text': answerIn(conversation),
    },
  }),
  model: (service, conversation, place) => ({
    name: STEP,
    kind: 'internal',
    attributes: stepAttributes(service, conversation, place),
  }),
  tool: (service, { id, name, arguments: given, result }) => ({
    name: TOOL,
    kind: 'internal',
    attributes: {
      'operation.name': `${TOOL} ${service.agent}`,
      'resource.name': service.agent,
      'ai.operationId': TOOL,
      'ai.telemetry.functionId': service.agent,
      'ai.toolCall.name': name,
      'ai.toolCall.id': id,
      'ai.toolCall.args': JSON.stringify(given),
      'ai.toolCall.result': JSON.stringify(result),
    },
  }),
};
