/** OpenTelemetry GenAI semantic conventions: messages as JSON in attributes of spans, or in log records. */
import type { JsonObject, JsonValue } from '../../../src/model/json.ts';
import type { Conversation, ModelCall } from '../conversation.ts';
import type { Service } from '../services.ts';
import { answerIn, callsTo, type Shape, tokensOf } from './shape.ts';

const textPart = (content: string): JsonObject => ({ type: 'text', content });

function assistantParts({ said, tool }: ModelCall): JsonObject[] {
  if (tool === null) return [textPart(said)];
  const { id, name } = tool;
  return [textPart(said), { type: 'tool_call', id, name, arguments: tool.arguments }];
}

const userMessage = (question: string): JsonObject => ({
  role: 'user',
  parts: [textPart(question)],
});

function exchangeOf(call: ModelCall): JsonObject[] {
  const said = { role: 'assistant', parts: assistantParts(call) };
  if (call.tool === null) return [said];
  const { id, result } = call.tool;
  return [said, { role: 'tool', parts: [{ type: 'tool_call_response', id, response: result }] }];
}

/** The attributes of a model call that hold text, as values: on log records they are sent so. */
export function inferenceTexts(
  { system, tools }: Service,
  conversation: Conversation,
  place: number,
): Readonly<Record<string, JsonValue>> {
  const { before, own } = callsTo(conversation, place);
  const finished = own.tool === null ? 'stop' : 'tool_call';
  return {
    'gen_ai.system_instructions': [textPart(system)],
    'gen_ai.tool.definitions': tools.map((tool) => ({ type: 'function', ...tool })),
    'gen_ai.input.messages': [
      userMessage(conversation.question),
      ...before.flatMap((call) => exchangeOf(call)),
    ],
    'gen_ai.output.messages': [
      { role: 'assistant', parts: assistantParts(own), finish_reason: finished },
    ],
  };
}

export function inferenceFacts(
  { model }: Service,
  texts: Readonly<Record<string, JsonValue>>,
): Readonly<Record<string, JsonValue>> {
  const { 'gen_ai.output.messages': output = [], ...input } = texts;
  return {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'openai',
    'gen_ai.request.model': model,
    'gen_ai.request.temperature': 0.2,
    'gen_ai.response.model': `${model}-2025-04-14`,
    'gen_ai.usage.input_tokens': tokensOf(JSON.stringify(input)),
    'gen_ai.usage.output_tokens': tokensOf(JSON.stringify(output)),
    'server.address': 'api.openai.com',
    'server.port': 443,
  };
}

const asJson = (values: Readonly<Record<string, JsonValue>>): Record<string, JsonValue> =>
  Object.fromEntries(Object.entries(values).map(([key, value]) => [key, JSON.stringify(value)]));

export const OTEL_GENAI: Shape = {
  name: 'OpenTelemetry GenAI',
  scope: { name: 'opentelemetry.instrumentation.openai_v2', version: '2.2b0' },
  agent: ({ agent, model, system }, conversation) => ({
    name: `invoke_agent ${agent}`,
    kind: 'internal',
    attributes: {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': agent,
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': model,
      ...asJson({
        'gen_ai.system_instructions': [textPart(system)],
        'gen_ai.input.messages': [userMessage(conversation.question)],
        'gen_ai.output.messages': [
          { role: 'assistant', parts: [textPart(answerIn(conversation))], finish_reason: 'stop' },
        ],
      }),
    },
  }),
  model: (service, conversation, place) => {
    const texts = inferenceTexts(service, conversation, place);
    return {
      name: `chat ${service.model}`,
      kind: 'client',
      attributes: { ...inferenceFacts(service, texts), ...asJson(texts) },
    };
  },
  tool: (_, { id, name, arguments: given, result }) => ({
    name: `execute_tool ${name}`,
    kind: 'internal',
    attributes: {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': name,
      'gen_ai.tool.type': 'function',
      ...asJson({ 'gen_ai.tool.call.arguments': given, 'gen_ai.tool.call.result': result }),
      'gen_ai.tool.call.id': id,
    },
  }),
};
