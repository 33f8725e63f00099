/**
 * Gemini CLI (google-gemini/gemini-cli `packages/core/src/telemetry`) and Qwen Code, its fork with its
 * own prefix: log events, and spans whose `gen_ai.input.messages` and `gen_ai.output.messages`
 * hold the input and output of any operation. Data only.
 *
 * Left out: `gen_ai.system_instructions`, tool definitions and descriptions, `conseca.*` (text of a
 * safety check), names of agents and extensions, ids, counts; and `input-json`/`output-json` of
 * early development tracing. A tool's output has no event: it is read from the next
 * request to the model.
 */

import type { StepKind } from '../../../../model/steps.ts';
import type { AttributeRow, Convention, EventRow } from '../../reader/convention.ts';
import { ERROR_SURFACE } from '../../reader/step-surfaces.ts';

const OPERATIONS: Readonly<Record<string, StepKind>> = {
  tool_call: 'tool',
  // A list of calls, refused ones included.
  schedule_tool_calls: 'tool',
  llm_call: 'llm',
  user_prompt: 'agent',
  agent_call: 'agent',
  // Tool results that go back to the model; nothing of the operator's.
  system_prompt: 'chain',
};

const PREFIXES = ['gemini_cli.', 'qwen-code.'];

function event(name: string, kind: StepKind, attributes: readonly AttributeRow[]): EventRow[] {
  return PREFIXES.map((prefix) => ({
    event: `${prefix}${name}`,
    kind,
    carries: 'own',
    attributes,
  }));
}

const ERROR: AttributeRow = { key: 'error', read: { as: 'text', surface: ERROR_SURFACE } };

export const GEMINI_CLI: Convention = {
  name: 'gemini-cli',
  appliesTo: { scopes: ['gemini-cli', 'qwen-code'], services: ['gemini-cli', 'qwen-code'] },
  kinds: [{ key: 'gen_ai.operation.name', kinds: OPERATIONS }, { names: OPERATIONS }],
  attributes: [
    // Elsewhere the name of a prompt of MCP's, here its id.
    { key: 'gen_ai.prompt.name', onKinds: [], read: { as: 'text', surface: 'tool_name' } },
    {
      key: 'gen_ai.input.messages',
      onKinds: ['tool'],
      read: { as: 'structure', surface: 'tool_args', envelope: { name: ['name'], take: ['args'] } },
    },
    {
      key: 'gen_ai.input.messages',
      onKinds: ['agent'],
      read: { as: 'structure', surface: 'step_input' },
    },
    {
      key: 'gen_ai.input.messages',
      notOnKinds: ['tool', 'agent'],
      read: { as: 'messages', side: 'input' },
    },
    {
      key: 'gen_ai.output.messages',
      onKinds: ['tool'],
      // Beside it are the call again and the tool's description.
      read: {
        as: 'messages',
        side: 'output',
        envelope: {
          take: [
            ['response', 'responseParts'],
            ['response', 'resultDisplay'],
          ],
        },
      },
    },
    {
      key: 'gen_ai.output.messages',
      onKinds: ['agent'],
      read: { as: 'structure', surface: 'agent_output' },
    },
    {
      key: 'gen_ai.output.messages',
      notOnKinds: ['tool', 'agent'],
      read: {
        as: 'messages',
        side: 'output',
        streamed: true,
        envelope: { take: [['streamChunks', 'content']] },
      },
    },
  ],
  events: [
    ...event('user_prompt', 'agent', [
      { key: 'prompt', read: { as: 'text', surface: 'step_input' } },
    ]),
    ...event('tool_call', 'tool', [
      { key: 'function_name', read: { as: 'text', surface: 'tool_name' } },
      { key: 'function_args', read: { as: 'structure', surface: 'tool_args' } },
      ERROR,
      { key: 'metadata', read: { as: 'structure', surface: 'tool_result' } },
    ]),
    ...event('api_request', 'llm', [
      { key: 'request_text', read: { as: 'messages', side: 'input' } },
    ]),
    ...event('api_response', 'llm', [
      {
        key: 'response_text',
        read: {
          as: 'messages',
          side: 'output',
          streamed: true,
          envelope: { take: [['candidates', 'content']] },
        },
      },
    ]),
    ...event('api_error', 'llm', [ERROR]),
    ...event('hook_call', 'other', [
      { key: 'hook_input', read: { as: 'structure', surface: 'step_input' } },
      { key: 'hook_output', read: { as: 'structure', surface: 'step_output' } },
      { key: 'stdout', read: { as: 'text', surface: 'step_output' } },
      { key: 'stderr', read: { as: 'text', surface: 'step_output' } },
      ERROR,
    ]),
  ],
  run: {
    cutMark: { pattern: /\.\.\.\[TRUNCATED: original length \d+\]$/, last: ']' },
    sizes: [{ key: 'prompt_length', texts: ['prompt'] }],
  },
};
