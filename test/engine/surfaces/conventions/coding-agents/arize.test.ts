/**
 * Arize's tracing of coding agents (Arize-ai/coding-harness-tracing 0.1.0): OpenInference, with parts of a tool's arguments
 * beside them, for Claude Code, Codex, Cursor, Copilot, Gemini CLI, Kiro, Devin, OpenCode and omp. Contents are invented.
 */
import { describe, expect, test } from 'vitest';
import { extractSteps } from '../../../../../src/engine/surfaces/reader/extract.ts';
import { captureHintOf } from '../../../../../src/engine/surfaces/reader/run-facts.ts';
import type { JsonObject } from '../../../../../src/model/json.ts';
import type { Step } from '../../../../../src/model/steps.ts';
import { span } from '../../../steps.ts';
import { read } from '../../read.ts';

const step = (kind: string, attributes: JsonObject, scopeName = 'arize-claude-plugin'): Step =>
  span({
    scopeName,
    serviceName: scopeName.replace(/arize-(\w+)-plugin/, '$1-code'),
    attributes: { 'openinference.span.kind': kind, 'session.id': 's-1', ...attributes },
  });
const unread = (one: Step): readonly string[] =>
  [...extractSteps([one])].flatMap(({ unreadKeys }) => unreadKeys());

const REDACTED = '<redacted (1234 chars)>';

describe('a tool', () => {
  const call = {
    'tool.name': 'Bash',
    'tool.call.id': 'toolu_1',
    'tool.command': 'ls -la',
    'tool.description': 'List the files',
  };

  test('has its arguments and result, each once', () => {
    const tool = step('TOOL', {
      ...call,
      'input.value': '{"command":"ls -la"}',
      'output.value': 'total 3',
    });
    expect(read(tool)).toEqual([
      'tool_name: Bash',
      'tool_args: {"command":"ls -la"}',
      'tool_args: ls -la',
      'tool_result: total 3',
    ]);
    expect(unread(tool)).toEqual([]);
  });

  test('whose contents are not logged has the command, path, query or address', () => {
    const contents = { 'input.value': REDACTED, 'output.value': REDACTED };
    expect(read(step('TOOL', { ...call, ...contents }))).toEqual([
      'tool_name: Bash',
      'tool_args: ls -la',
    ]);
    const details = {
      'tool.name': 'WebFetch',
      'tool.url': 'http://a.test/?q=1',
      'tool.query': 'a hat',
      'tool.file_path': '/srv/hats.txt',
    };
    expect(read(step('TOOL', { ...contents, ...details }))).toEqual([
      'tool_name: WebFetch',
      'tool_args: /srv/hats.txt',
      'tool_args: a hat',
      'tool_args: http://a.test/?q=1',
    ]);
  });
});

test('a model call of Codex has prompt and answer, which its messages repeat', () => {
  const llm = step(
    'LLM',
    {
      'llm.model_name': 'm-1',
      'input.value': 'a hat, please',
      'output.value': 'Here it is.',
      'llm.output_messages': '[{"message.role":"assistant","message.content":"Here it is."}]',
    },
    'arize-codex-plugin',
  );
  expect(read(llm)).toEqual(['step_input: a hat, please', 'agent_output: Here it is.']);
});

test('thoughts of Devin are the agent’s output', () => {
  const llm = step(
    'LLM',
    { 'llm.reasoning': 'The hat is in the box.', 'output.value': 'In the box.' },
    'arize-devin-plugin',
  );
  expect(read(llm)).toEqual(['agent_output: The hat is in the box.', 'agent_output: In the box.']);
});

test('a turn, a subagent and a permission have their texts', () => {
  const turn = { 'input.value': 'find the hat', 'output.value': 'found' };
  expect(read(step('CHAIN', turn))).toEqual(['step_input: find the hat', 'step_output: found']);
  expect(read(step('AGENT', { ...turn, 'subagent.type': 'Explore' }))).toEqual([
    'step_input: find the hat',
    'agent_output: found',
  ]);
  const permission = { 'permission.type': 'ask', 'permission.tool': 'Bash', 'input.value': 'ls' };
  expect(read(step('CHAIN', permission))).toEqual(['step_input: ls']);
});

test('a run without contents shows the settings of this tracing, not of the agent', () => {
  const turn = step('CHAIN', { 'input.value': REDACTED, 'output.value': REDACTED });
  expect(read(turn)).toEqual([]);
  expect(captureHintOf([turn])).toContain('ARIZE_LOG_PROMPTS=true');
});
