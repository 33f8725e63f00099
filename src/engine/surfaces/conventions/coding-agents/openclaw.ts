/**
 * OpenClaw (openclaw/openclaw `extensions/diagnostics-otel`): the text beside OpenTelemetry GenAI, which older
 * versions do not write. Data only.
 *
 * Left out: `openclaw.content.system_prompt`, `openclaw.content.tool_definitions`.
 */
import type { Convention } from '../../reader/convention.ts';
import { messages, structure } from '../rows.ts';

export const OPENCLAW: Convention = {
  name: 'openclaw',
  attributes: [
    { key: 'openclaw.content.input_messages', raw: 'input', read: messages('input') },
    { key: 'openclaw.content.output_messages', raw: 'output', read: messages('output') },
    { key: 'openclaw.content.tool_input', raw: 'equal', read: structure('tool_args') },
    { key: 'openclaw.content.tool_output', raw: 'equal', read: structure('tool_result') },
  ],
};
