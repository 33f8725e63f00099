/**
 * Pipecat (pipecat-ai/pipecat `src/pipecat/utils/tracing/service_attributes.py`): plain keys on the spans of
 * its services. Data only.
 *
 * Left out: tools and their definitions, `settings.*`, `param.*`, `extra.*`, instructions.
 */
import type { Convention } from '../../reader/convention.ts';
import { messages, structure, text } from '../rows.ts';

export const PIPECAT: Convention = {
  name: 'pipecat',
  appliesTo: {
    scopes: ['pipecat'],
    services: ['pipecat'],
    attributes: ['metrics.ttfb', 'tool.function_name', 'service.operation'],
  },
  kinds: [{ has: 'tool.function_name', kind: 'tool' }],
  attributes: [
    { key: 'input', read: messages('input') },
    { key: 'context_messages', read: messages('input') },
    { key: 'output', read: text('agent_output') },
    // The transcript of the user; with a realtime model also its own speech.
    {
      key: 'transcript',
      whereNot: { key: 'transcript.is_input', value: false },
      read: text('step_input'),
    },
    {
      key: 'transcript',
      where: { key: 'transcript.is_input', value: false },
      read: text('agent_output'),
    },
    { key: 'text_output', read: text('agent_output') },
    { key: 'text', read: text('agent_output') },
    { key: 'tool.function_name', read: text('tool_name') },
    { key: 'tool.arguments', read: structure('tool_args') },
    { key: 'tool.result', read: structure('tool_result') },
    { prefix: 'function_calls.', suffix: '.name', read: text('tool_name') },
    { prefix: 'function_calls.', suffix: '.arguments', read: structure('tool_args') },
  ],
};
