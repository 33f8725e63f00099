/** The line that tells what a step did: the most telling of its texts, bounded. */
import { describe, expect, test } from 'vitest';
import { snippetOf } from '../../src/engine/run-outline.ts';
import { SNIPPET_UNITS } from '../../src/model/run-page.ts';
import type { Surface } from '../../src/model/steps.ts';

const text = (surface: Surface, one: string) => ({ surface, text: one });
const args = (value: unknown) => [
  text('tool_name', 'Bash'),
  text('tool_args', typeof value === 'string' ? value : JSON.stringify(value)),
  text('tool_result', 'done'),
];

describe('of a tool', () => {
  test('is the command, the address or the query of its arguments', () => {
    expect(snippetOf('tool', args({ description: 'lists', command: 'ls -la' }))).toBe('ls -la');
    expect(snippetOf('tool', args({ url: 'https://example.com/a' }))).toBe('https://example.com/a');
    expect(snippetOf('tool', args({ limit: 3, topic: 'rivers' }))).toBe('rivers');
    expect(snippetOf('tool', args({ limit: 3 }))).toBe('{"limit":3}');
    expect(snippetOf('tool', args('a plain text'))).toBe('a plain text');
  });

  test('is found in arguments that are cut', () => {
    expect(snippetOf('tool', args('{"command":"say \\"hi\\" and more'))).toBe('say "hi" and more');
  });

  test('without arguments is the result, and without any text none', () => {
    expect(snippetOf('tool', [text('tool_result', 'done')])).toBe('done');
    expect(snippetOf('tool', [text('tool_name', 'Bash')])).toBe('Bash');
    expect(snippetOf('tool', [])).toBeNull();
  });
});

test('of a model is its newest answer or call', () => {
  const history = [
    text('step_input', 'hello'),
    text('agent_output', 'old'),
    text('step_input', 'and?'),
  ];
  expect(snippetOf('llm', [...history, text('agent_output', 'new')])).toBe('new');
  const call = text('tool_args', '{"path":"/etc/hosts"}');
  expect(snippetOf('llm', [...history, call])).toBe('/etc/hosts');
  expect(snippetOf('llm', [text('step_input', 'a'), text('step_input', 'b')])).toBe('b');
});

test('of an agent is what it was given', () => {
  const texts = [text('agent_output', 'done'), text('step_input', 'do it')];
  expect(snippetOf('agent', texts)).toBe('do it');
});

test('is one line, within its limit, and never half a character', () => {
  expect(snippetOf('agent', [text('step_input', '  one\n\n two\t')])).toBe('one two');
  const full = 'x'.repeat(SNIPPET_UNITS);
  expect(snippetOf('agent', [text('step_input', full)])).toBe(full);
  expect(snippetOf('agent', [text('step_input', `${full}y`)])).toBe(`${full.slice(1)}…`);
  const emoji = `${'x'.repeat(SNIPPET_UNITS - 2)}😀😀`;
  expect(snippetOf('agent', [text('step_input', emoji)])).toBe(`${'x'.repeat(SNIPPET_UNITS - 2)}…`);
});
