/**
 * GitHub Copilot as its documentation describes it (microsoft/vscode-docs
 * `docs/copilot/guides/monitoring-agents.md`, "Traces", "Events"). Contents are invented.
 */
import { expect, it } from 'vitest';
import type { JsonObject } from '../../../../../src/model/json.ts';
import type { Step } from '../../../../../src/model/steps.ts';
import { log, span } from '../../../steps.ts';
import { extractSurfaces } from '../../extract-surfaces.ts';
import { read } from '../../read.ts';

function operation(name: string, attributes: JsonObject): Step {
  return span({
    serviceName: 'copilot-chat',
    attributes: {
      'gen_ai.operation.name': name,
      'gen_ai.conversation.id': 'c-1',
      'github.copilot.git.repository': 'https://git.example/repo',
      'copilot_chat.repo.remote_url': 'https://git.example/repo',
      ...attributes,
    },
  });
}

it('content is in the standard attributes', () => {
  const chat = operation('chat', {
    'gen_ai.system_instructions': '[{"type":"text","content":"You are Copilot."}]',
    'gen_ai.tool.definitions': '[{"name":"readFile"}]',
    'gen_ai.input.messages': '[{"role":"user","parts":[{"type":"text","content":"in"}]}]',
    'gen_ai.output.messages': '[{"role":"assistant","parts":[{"type":"text","content":"out"}]}]',
    'copilot_chat.user_request': 'in',
    'copilot_chat.reasoning_content': 'because',
    'copilot_chat.request.options': '{"a":"b"}',
  });
  expect(read(chat)).toEqual(['step_input: in', 'agent_output: because', 'agent_output: out']);
});

it('a tool call; the parameters of its own repeat the arguments', () => {
  const tool = operation('execute_tool', {
    'gen_ai.tool.name': 'runCommand',
    'gen_ai.tool.type': 'function',
    'gen_ai.tool.call.id': '1',
    'gen_ai.tool.call.arguments': '{"command":"ls"}',
    'gen_ai.tool.call.result': 'a.txt',
    'github.copilot.tool.parameters.command': 'ls',
    'github.copilot.tool.parameters.mcp_server_name': 'mail',
    'github.copilot.tool.parameters.mcp_tool_name': 'send',
  });
  expect(read(tool)).toEqual([
    'tool_name: send',
    'tool_args: ls',
    'tool_name: runCommand',
    'tool_args: {"command":"ls"}',
    'tool_result: a.txt',
  ]);
});

it('a hook is no tool step', () => {
  const hook = operation('execute_hook', {
    'gen_ai.tool.name': 'runCommand',
    'github.copilot.hook.tool_names': '["runCommand"]',
    'copilot_chat.hook_type': 'PreToolUse',
    'copilot_chat.hook_command': 'check.sh',
    'copilot_chat.hook_input': '{"tool":"x"}',
    'copilot_chat.hook_output': 'pass',
  });
  expect(extractSurfaces([hook]).kinds).toEqual(['other']);
  expect(read(hook)).toEqual([
    'step_input: {"tool":"x"}',
    'step_input: x',
    'step_output: pass',
    'tool_name: runCommand',
  ]);
});

it('without content there is a tool name and nothing else', () => {
  expect(read(operation('execute_tool', { 'gen_ai.tool.name': 'readFile' }))).toEqual([
    'tool_name: readFile',
  ]);
});

it('its log events carry no text', () => {
  const attributes = { 'gen_ai.tool.name': 'readFile', success: true, duration_ms: 3 };
  const event = { name: 'copilot_chat.tool.call', serviceName: 'copilot-chat', body: 'a call' };
  expect(read(log({ ...event, attributes }))).toEqual(['tool_name: readFile']);
});
