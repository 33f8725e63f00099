/**
 * Pipecat (pipecat-ai/pipecat `src/pipecat/utils/tracing/service_attributes.py`): plain keys on the spans of
 * its services. Data only.
 *
 * Left out: tools and their definitions, `settings.*`, `param.*`, `extra.*`, instructions.
 */
import type { Convention } from '../../reader/convention.ts';

export const PIPECAT: Convention = {
  name: 'pipecat',
  appliesTo: {
    scopes: ['pipecat'],
    services: ['pipecat'],
    attributes: ['metrics.ttfb', 'tool.function_name', 'service.operation'],
  },
  kinds: [{ has: 'tool.function_name', kind: 'tool' }],
  attributes: [
    { key: 'input', read: { as: 'messages', side: 'input' } },
    { key: 'context_messages', read: { as: 'messages', side: 'input' } },
    { key: 'output', read: { as: 'text', surface: 'agent_output' } },
    // The transcript of the user; with a realtime model also its own speech.
    {
      key: 'transcript',
      whereNot: { key: 'transcript.is_input', value: false },
      read: { as: 'text', surface: 'step_input' },
    },
    {
      key: 'transcript',
      where: { key: 'transcript.is_input', value: false },
      read: { as: 'text', surface: 'agent_output' },
    },
    { key: 'text_output', read: { as: 'text', surface: 'agent_output' } },
    { key: 'text', read: { as: 'text', surface: 'agent_output' } },
    { key: 'tool.function_name', read: { as: 'text', surface: 'tool_name' } },
    { key: 'tool.arguments', read: { as: 'structure', surface: 'tool_args' } },
    { key: 'tool.result', read: { as: 'structure', surface: 'tool_result' } },
    { prefix: 'function_calls.', suffix: '.name', read: { as: 'text', surface: 'tool_name' } },
    {
      prefix: 'function_calls.',
      suffix: '.arguments',
      read: { as: 'structure', surface: 'tool_args' },
    },
  ],
};
