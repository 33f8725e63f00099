/**
 * Flue (`@flue/opentelemetry`; langfuse/langfuse
 * `packages/shared/src/server/otel/OtelIngestionProcessor.ts`): text on its own keys. It writes a
 * string as it is and anything else as JSON. Data only.
 *
 * Left out: the system prompt and the tools beside a turn's messages, `flue.task.cwd`, the span event
 * `flue.log` (the program's own words), ids. The ids of tasks, turns and operations are on all spans
 * below too, so they show no kind.
 */
import type { AttributeRow, Convention } from '../../reader/convention.ts';
import { exchange, messages, structure, text } from '../rows.ts';

function results(keys: readonly string[]): AttributeRow[] {
  return keys.map((key) => ({ key, read: exchange('output', 'agent_output') }));
}

export const FLUE: Convention = {
  name: 'flue',
  kinds: [
    { has: 'flue.tool.name', kind: 'tool' },
    { has: 'flue.tool.call_id', kind: 'tool' },
    // The outermost one: its output is the answer.
    { has: 'flue.workflow.name', kind: 'agent' },
    { has: 'flue.operation.kind', kind: 'agent' },
    { names: { 'flue.task': 'agent', 'flue.compaction': 'chain' } },
  ],
  attributes: [
    {
      key: 'flue.turn.input',
      read: messages('input', { take: ['messages'], beside: ['systemPrompt', 'tools'] }),
    },
    { key: 'flue.workflow.payload', read: exchange('input', 'step_input') },
    { key: 'flue.task.prompt', read: text('step_input') },
    { key: 'flue.tool.name', read: text('tool_name') },
    { key: 'flue.tool.arguments', read: structure('tool_args') },
    { key: 'flue.tool.result', read: structure('tool_result') },
    { key: 'flue.turn.output', read: messages('output') },
    ...results(['flue.task.result', 'flue.operation.result', 'flue.workflow.result']),
  ],
  run: {
    names: {
      agentName: { 'flue.workflow.name': 100, 'flue.task.agent': 110 },
      sessionId: { 'flue.session.name': 250 },
    },
  },
};
