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
import { event, messages, structure, text } from '../rows.ts';

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

const events = (name: string, kind: StepKind, attributes: readonly AttributeRow[]): EventRow[] =>
  PREFIXES.map((prefix) => event(`${prefix}${name}`, kind, attributes));

const ERROR: AttributeRow = { key: 'error', read: text(ERROR_SURFACE) };

export const GEMINI_CLI: Convention = {
  name: 'gemini-cli',
  appliesTo: { scopes: ['gemini-cli', 'qwen-code'], services: ['gemini-cli', 'qwen-code'] },
  kinds: [{ key: 'gen_ai.operation.name', kinds: OPERATIONS }, { names: OPERATIONS }],
  attributes: [
    // Elsewhere the name of a prompt of MCP's, here its id.
    { key: 'gen_ai.prompt.name', onKinds: [], read: text('tool_name') },
    {
      key: 'gen_ai.input.messages',
      onKinds: ['tool'],
      read: structure('tool_args', { name: ['name'], take: ['args'] }),
    },
    { key: 'gen_ai.input.messages', onKinds: ['agent'], read: structure('step_input') },
    { key: 'gen_ai.input.messages', notOnKinds: ['tool', 'agent'], read: messages('input') },
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
    { key: 'gen_ai.output.messages', onKinds: ['agent'], read: structure('agent_output') },
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
    ...events('user_prompt', 'agent', [{ key: 'prompt', read: text('step_input') }]),
    ...events('tool_call', 'tool', [
      { key: 'function_name', read: text('tool_name') },
      { key: 'function_args', read: structure('tool_args') },
      ERROR,
      { key: 'metadata', read: structure('tool_result') },
    ]),
    ...events('api_request', 'llm', [{ key: 'request_text', read: messages('input') }]),
    ...events('api_response', 'llm', [
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
    ...events('api_error', 'llm', [ERROR]),
    ...events('hook_call', 'other', [
      { key: 'hook_input', read: structure('step_input') },
      { key: 'hook_output', read: structure('step_output') },
      { key: 'stdout', read: text('step_output') },
      { key: 'stderr', read: text('step_output') },
      ERROR,
    ]),
  ],
  run: {
    cutMark: { pattern: /\.\.\.\[TRUNCATED: original length \d+\]$/, last: ']' },
    sizes: [{ key: 'prompt_length', texts: ['prompt'] }],
  },
};
