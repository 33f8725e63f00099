/**
 * Owns the message parts of the dialects that many products share: OpenTelemetry GenAI, OpenAI,
 * Anthropic, Gemini, Bedrock. Calls, results, thoughts and media are recognised by the words of
 * their type (`words.ts`); here are the others, and which members hold what. What only one product
 * writes is in that product's file (`parts`). Data only.
 */
import type { MessageParts, PartShape } from '../convention.ts';

/** A tool's call; the provider makes some itself, and then the result is in the same part. */
export const CALL = {
  toolName: ['name', 'toolName', 'tool_name'],
  toolArgs: [
    ...['arguments', 'input', 'args', 'toolInput', 'tool_input', 'tool_kwargs', 'server_tool_call'],
    ...['action', 'operation', 'code', 'queries', 'query', 'parameters', 'params', 'kwargs'],
  ],
  toolResult: ['output', 'outputs', 'result', 'results', 'errorText', 'error'],
} satisfies PartShape;

/** A tool's result. All of it is the tool's, except the arguments that some products repeat. */
export const RESULT = {
  // OpenTelemetry's schema says `response`; its own example, and some producers, say `result`.
  toolResult: ['output', 'result', 'response', 'content', 'server_tool_call_response'],
  toolArgs: ['input', 'args', 'arguments', 'origin'],
  rest: 'tool_result',
} satisfies PartShape;

/** A tool's call, its result, or both, whichever is there; what else there is may be the tool's. */
export const OF_TOOL: PartShape = {
  toolName: [...CALL.toolName, 'tool'],
  toolArgs: CALL.toolArgs,
  toolResult: RESULT.toolResult,
  rest: 'tool_result',
};

export const THOUGHT: PartShape = {
  thought: ['content', 'text', 'thinking', 'reasoning', 'thought', 'reasoningText', 'summary'],
};

/** Only its provider can read it. */
export const OPAQUE: PartShape = {};

export const MEDIA: PartShape = {
  media: { reference: ['uri', 'url', 'file_uri', 'image_url'] },
};

export const BARE_TEXT: PartShape = { said: ['text'] };

export const SHARED_PARTS: Required<MessageParts> = {
  byType: {
    text: { said: ['content', 'text'] },
    input_text: { said: ['text'] },
    output_text: { said: ['text'] },
    summary_text: { said: ['text'] },
    refusal: { said: ['refusal'] },
    generic: { said: ['value'] },
    // A person approves the call of a tool or refuses it.
    mcp_approval_response: { said: ['reason'] },
  },
  byMember: {
    function: CALL,
    toolInvocation: CALL,
    reasoningContent: THOUGHT,
    executableCode: { toolArgs: ['code'] },
    executable_code: { toolArgs: ['code'] },
    codeExecutionResult: { toolResult: ['output'] },
    code_execution_result: { toolResult: ['output'] },
    inlineData: MEDIA,
    inline_data: MEDIA,
    fileData: MEDIA,
    file_data: MEDIA,
  },
};
