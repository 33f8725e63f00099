/**
 * Claude Code (code.claude.com/docs/en/monitoring-usage): log events, spans of its beta tracing, the
 * span event `tool.output`, and raw bodies of the Messages API. Data only.
 *
 * Left out: `system_prompt_preview`, `user_system_prompt`, the `system` and `tools` of raw bodies
 * (the operator's), `hook_definitions` (configuration), names of hooks, plugins, servers and
 * commands, ids, counts. `body_ref` names a file of the sender's: there is no text to read.
 */

import type { StepKind } from '../../../../model/steps.ts';
import type { AttributeRow, Convention, EventRow } from '../../reader/convention.ts';
import { ERROR_SURFACE } from '../../reader/step-surfaces.ts';

/** `span.type`, in some versions without the prefix. */
const KINDS: Readonly<Record<string, StepKind>> = {
  interaction: 'agent',
  llm_request: 'llm',
  tool: 'tool',
  'tool.execution': 'tool',
  'tool.blocked_on_user': 'other',
  hook: 'other',
};

/** The event's name is in `event.name` without, in the body with the prefix. */
const PREFIX = 'claude_code.';

const KINDS_OF_NAMES = Object.fromEntries(
  Object.entries(KINDS).flatMap(([name, kind]) => [
    [name, kind],
    [`${PREFIX}${name}`, kind],
  ]),
);

function event(name: string, kind: StepKind, attributes: readonly AttributeRow[]): EventRow[] {
  return [name, `${PREFIX}${name}`].map((one) => ({
    event: one,
    kind,
    carries: 'own',
    attributes,
  }));
}

const TOOL_NAME: AttributeRow = { key: 'tool_name', read: { as: 'text', surface: 'tool_name' } };

/** Longer than `tool_input`, whose values are cut at 512 characters. */
const TOOL_PARAMETERS: AttributeRow = {
  key: 'tool_parameters',
  read: { as: 'structure', surface: 'tool_args', envelope: { name: ['mcp_tool_name'] } },
};

const TOOL_INPUT: AttributeRow = {
  key: 'tool_input',
  read: { as: 'structure', surface: 'tool_args' },
};

/** A tool's output in its span event; `<name>_truncated` and the like may be beside each. */
const OUTPUTS = ['output', 'content', 'diff'];

/** Raw bodies of the Messages API contain every call and result; a reference is a gap of its own. */
const BODIES = ['body', 'body_ref'];

export const CLAUDE_CODE: Convention = {
  name: 'claude-code',
  appliesTo: { scopes: ['com.anthropic.claude_code'], services: ['claude-code'] },
  kinds: [{ key: 'span.type', kinds: KINDS_OF_NAMES }, { names: KINDS_OF_NAMES }],
  attributes: [
    { key: 'user_prompt', read: { as: 'text', surface: 'step_input' } },
    TOOL_NAME,
    TOOL_INPUT,
    { key: 'full_command', read: { as: 'text', surface: 'tool_args' } },
    { key: 'file_path', read: { as: 'text', surface: 'tool_args' } },
    { key: 'skill_name', read: { as: 'text', surface: 'tool_args' } },
    { key: 'subagent_type', read: { as: 'text', surface: 'tool_args' } },
    // On a tool's span the result, which the model reads next.
    {
      key: 'new_context',
      read: { as: 'text', surface: { tool: 'tool_result', else: 'step_input' } },
    },
    { key: 'response.model_output', read: { as: 'text', surface: 'agent_output' } },
    { key: 'error', read: { as: 'text', surface: ERROR_SURFACE } },
  ],
  events: [
    ...event('user_prompt', 'agent', [
      { key: 'prompt', read: { as: 'text', surface: 'step_input' } },
    ]),
    ...event('assistant_response', 'llm', [
      { key: 'response', read: { as: 'text', surface: 'agent_output' } },
    ]),
    ...event('tool_result', 'tool', [TOOL_NAME, TOOL_INPUT, TOOL_PARAMETERS]),
    // The only event of a refused call.
    ...event('tool_decision', 'tool', [TOOL_NAME, TOOL_PARAMETERS]),
    ...event('api_request', 'llm', []),
    ...event('api_error', 'llm', []),
    ...event('api_refusal', 'llm', []),
    ...event('api_retries_exhausted', 'llm', []),
    ...event('api_request_body', 'llm', [
      {
        key: 'body',
        read: { as: 'messages', side: 'input', envelope: { take: ['messages'] } },
      },
    ]),
    ...event('api_response_body', 'llm', [
      { key: 'body', read: { as: 'messages', side: 'output' } },
    ]),
    {
      event: 'tool.output',
      carries: 'own',
      attributes: [
        // Everything else is an argument of the tool: a command, a path.
        {
          prefix: '',
          except: OUTPUTS.flatMap((name) => [name, `${name}_truncated`, `${name}_original_length`]),
          read: { as: 'text', surface: 'tool_args' },
        },
        ...OUTPUTS.map(
          (key): AttributeRow => ({ key, read: { as: 'text', surface: 'tool_result' } }),
        ),
      ],
    },
  ],
  run: {
    names: { model: { model: 140 }, userId: { 'user.account_id': 110, 'user.account_uuid': 120 } },
    failure: { key: 'success', values: [false, 'false'] },
    placeholders: ['<REDACTED>'],
    references: /^body_ref$/,
    cutFlags: [
      'body',
      'new_context',
      'response',
      'response.model_output',
      'tool_input',
      ...OUTPUTS,
    ].map((name) => `${name}_truncated`),
    cutMark: { pattern: /\s*\[TRUNCATED - Content exceeds \d+KB limit\]$/, last: ']' },
    sizes: [
      { key: 'prompt_length', texts: ['prompt'] },
      { key: 'user_prompt_length', texts: ['user_prompt'] },
      { key: 'response_length', texts: ['response'] },
      { key: 'tool_input_size_bytes', texts: ['tool_input', 'tool_parameters', ...BODIES] },
      { key: 'tool_result_size_bytes', texts: ['new_context', ...OUTPUTS, ...BODIES] },
    ],
  },
};
