import { describe, expect, it } from 'vitest';
import {
  actOfMember,
  actOfType,
  authorByRole,
  authorByType,
  NAME_CHARS_MAX,
  thoughtOf,
  wordsOf,
} from '../../../../../src/engine/surfaces/reader/messages/words.ts';

describe('wordsOf', () => {
  it.each([
    ['toolResult', ['tool', 'result']],
    ['Tool-Result', ['tool', 'result']],
    ['TOOL_RESULT', ['tool', 'result']],
    ['toolresult', ['tool', 'result']],
    ['TOOLCALLOUTPUTS', ['tool', 'call', 'outputs']],
    ['functioncall', ['function', 'call']],
    ['MessageRole.TOOL', ['message', 'role', 'tool']],
    ['AIMessageChunk', ['ai', 'message', 'chunk']],
    ['a tool', ['a', 'tool']],
    ['toolbox', ['toolbox']],
    ['x'.repeat(NAME_CHARS_MAX), ['x'.repeat(NAME_CHARS_MAX)]],
    ['x'.repeat(NAME_CHARS_MAX + 1), []],
    ['', []],
  ])('%s', (name, words) => {
    expect(wordsOf(name)).toEqual(words);
  });
});

describe('authorByRole', () => {
  it.each([
    ...['tool', 'TOOL', 'tools', 'function', 'toolResult', 'Tool-Response', 'functionResponse'],
    ...['function_call_output', 'tool_call_results', 'TOOL_EXECUTION_RESULT', 'toolreturn', 'mcp'],
    ...['observation', 'Observations', 'ipython', 'IPython', 'environment', 'code_interpreter'],
    ...['python', 'browser', 'retriever', 'search_result', 'bash-output', 'result', 'ToolMessage'],
    ...['FunctionExecutionResultMessage', 'ToolCallExecutionEvent', 'ToolCallSummaryMessage'],
    ...['MessageRole.TOOL', 'agent_tool_result', 'system_tool'],
  ])('%s is a tool', (role) => {
    expect(authorByRole(role)).toBe('tool');
  });

  it.each([
    ...['assistant', 'Assistant', 'AI', 'ai', 'model', 'bot', 'chatbot', 'CHATBOT', 'ChatBot'],
    ...['agent', 'AIMessageChunk', 'AssistantMessage', 'tool_call', 'tool-call', 'toolUse'],
    ...['function_call', 'ToolCallRequestEvent', 'toolcalls', 'thought', 'model_response'],
    ...['assistant-output', 'gpt', 'llm'],
  ])('%s is the model', (role) => {
    expect(authorByRole(role)).toBe('model');
  });

  it.each([
    'user',
    'USER',
    'human',
    'HumanMessage',
    'end_user',
    'EndUser',
    'customer',
    'user-turn',
  ])('%s is a user', (role) => {
    expect(authorByRole(role)).toBe('user');
  });

  it.each(['system', 'System', 'developer', 'SystemMessage', 'system_prompt', 'instructions'])(
    '%s is the operator',
    (role) => {
      expect(authorByRole(role)).toBe('operator');
    },
  );

  it.each([
    'somebody',
    'output',
    'response',
    'file_system',
    'operating-system',
    'toolbox',
    '—',
    '',
  ])('%j is not known', (role) => {
    expect(authorByRole(role)).toBeUndefined();
  });
});

describe('types', () => {
  it.each([
    ['human', 'user'],
    ['ToolMessage', 'tool'],
    ['AIMessageChunk', 'model'],
    ['system', 'operator'],
    ['ThoughtEvent', 'model'],
    ['SystemEvent', undefined],
    ['TextMessage', undefined],
    ['message', undefined],
    ['agent', undefined],
    ['text', undefined],
  ])('of a message: %s', (type, author) => {
    expect(authorByType(type)).toBe(author);
  });

  it.each([
    ...['web_fetch_tool_result', 'bash_code_execution_tool_result', 'apply_patch_call_output'],
    ...['computer_call_output', 'tool-result', 'toolResult', 'search_result', 'tool_search_output'],
    ...['tool-return', 'builtin-tool-return', 'tool-error', 'FunctionExecutionResult', 'result'],
    ...['tool_call_response', 'code_execution_result', 'agent_tool_output', 'observation'],
  ])('of a part: %s is a result', (type) => {
    expect(actOfType(type)).toBe('result');
  });

  it.each([
    ...['apply_patch_call', 'web_search_call', 'tool_use', 'server_tool_use', 'tool-call'],
    ...['toolCall', 'mcp_approval_request', 'function_call', 'dynamic-tool-call', 'toolRequest'],
  ])('of a part: %s is a call', (type) => {
    expect(actOfType(type)).toBe('call');
  });

  it.each([
    ...[
      'text',
      'output_text',
      'text_output',
      'structured_output',
      'final_output',
      'model_response',
    ],
    ...['mcp_approval_response', 'tool-approval-response', 'api_error', 'use', 'response', 'user'],
  ])('of a part: %s is neither', (type) => {
    expect(actOfType(type)).toBeUndefined();
  });

  it.each([
    ['toolCalls', 'call'],
    ['tool_call', 'call'],
    ['functionCall', 'call'],
    ['toolInvocations', 'call'],
    ['tool_results', 'result'],
    ['functionResponse', 'result'],
    ['codeExecutionResult', 'result'],
    ['response', undefined],
    ['tool_call_id', undefined],
    ['tool_choice', undefined],
    ['search_result', undefined],
  ])('of a member: %s', (name, act) => {
    expect(actOfMember(name)).toBe(act);
  });

  it.each([
    ['thinking', 'thought'],
    ['reasoning', 'thought'],
    ['reasoning-content', 'thought'],
    ['redacted_thinking', 'opaque'],
    ['redacted-reasoning', 'opaque'],
    ['text', undefined],
  ])('of a thought: %s', (type, kind) => {
    expect(thoughtOf(type)).toBe(kind);
  });
});
