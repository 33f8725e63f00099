/**
 * Owns the message parts of the dialects that many products share: OpenTelemetry GenAI, OpenAI,
 * Anthropic, Gemini, Bedrock. What only one product writes is in that product's file (`parts`).
 * Data only.
 */
import type { MessageParts, PartShape } from './convention.ts';

export const CALL: PartShape = {
  toolName: ['name', 'toolName'],
  toolArgs: ['arguments', 'input', 'args', 'toolInput'],
};

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
    reasoning: { thought: ['content', 'text', 'summary'] },
    thinking: { thought: ['content', 'thinking'] },
    tool_call: CALL,
    tool_use: CALL,
    function_call: CALL,
    toolCall: CALL,
    server_tool_call: { toolName: ['name'], toolArgs: ['server_tool_call'] },
    // The schema says `response`; its own example, and some producers, say `result`.
    tool_call_response: { toolResult: ['response', 'result'] },
    server_tool_call_response: { toolResult: ['server_tool_call_response'] },
    server_tool_use: CALL,
    mcp_tool_use: CALL,
    custom_tool_call: CALL,
    tool_result: { toolResult: ['content'] },
    mcp_tool_result: { toolResult: ['content'] },
    web_search_tool_result: { toolResult: ['content'] },
    code_execution_tool_result: { toolResult: ['content'] },
    function_call_output: { toolResult: ['output'] },
    custom_tool_call_output: { toolResult: ['output'] },
    // The provider makes these calls itself: call and result are one part.
    mcp_call: { toolName: ['name'], toolArgs: ['arguments'], toolResult: ['output', 'error'] },
    code_interpreter_call: { toolArgs: ['code'], toolResult: ['outputs'] },
    file_search_call: { toolArgs: ['queries'], toolResult: ['results'] },
    local_shell_call: { toolArgs: ['action'] },
    local_shell_call_output: { toolResult: ['output'] },
    shell_call: { toolArgs: ['action'] },
    shell_call_output: { toolResult: ['output'] },
    blob: MEDIA,
    binary: MEDIA,
    file: MEDIA,
    uri: MEDIA,
    image: MEDIA,
    image_url: MEDIA,
    generic: { said: ['value'] },
  },
  byMember: {
    toolUse: CALL,
    functionCall: CALL,
    function_call: CALL,
    function: CALL,
    toolResult: { toolResult: ['content'] },
    functionResponse: { toolResult: ['response'] },
    function_response: { toolResult: ['response'] },
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
