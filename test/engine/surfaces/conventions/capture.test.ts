/** The line that makes an instrumentation send text: which one a run shows, and that the page has it. */
import { readFileSync } from 'node:fs';
import { describe, expect, it, test } from 'vitest';
import { CAPTURE } from '../../../../src/engine/surfaces/conventions/capture.ts';
import { captureHintOf } from '../../../../src/engine/surfaces/reader/run-facts.ts';
import type { Step } from '../../../../src/model/steps.ts';
import { log, operation, span } from '../../steps.ts';

test('docs/instrumentations.md has a row for every line, in the same order, and no other', () => {
  const page = readFileSync(
    new URL('../../../../docs/instrumentations.md', import.meta.url),
    'utf8',
  );
  const table = page.split('| sender | line |\n|---|---|\n')[1]?.split('\n\n')[0] ?? '';
  const lines = table.split('\n').map((row) => /^\| [^|]+ \| `([^`]+)`/.exec(row)?.[1]);
  expect(lines).toEqual(CAPTURE.flatMap(([, line]) => line ?? []));
});

describe('a run', () => {
  it.each<[string, Step, string | null]>([
    ['a scope', span({ scopeName: 'com.anthropic.claude_code.events' }), 'OTEL_LOG_USER_PROMPTS=1'],
    ['a service', log({ serviceName: 'codex_cli_rs' }), 'log_user_prompt = true'],
    ['an attribute', span({ attributes: { 'ai.operationId': 'ai.toolCall' } }), 'recordInputs'],
    [
      'an older instrumentation beside the newer one of the same name',
      span({ scopeName: 'opentelemetry.instrumentation.openai.v1' }),
      'TRACELOOP_TRACE_CONTENT=true',
    ],
    [
      'the general attributes only',
      { ...operation('chat'), scopeName: 'opentelemetry.instrumentation.openai_v2' },
      'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true',
    ],
  ])('known by %s has its line', (_what, step, line) => {
    expect(captureHintOf([span({ name: 'GET /' }), step])).toContain(line);
  });

  it('of a product without a switch has none, also where it uses the general attributes', () => {
    const { attributes } = operation('chat');
    const step = span({ attributes: { ...attributes, 'mastra.span.type': 'tool_call' } });
    expect(captureHintOf([step])).toBeNull();
  });

  it('of nobody known has none', () => {
    expect(captureHintOf([span({ name: 'GET /', scopeName: 'http' })])).toBeNull();
    expect(captureHintOf([])).toBeNull();
  });
});
