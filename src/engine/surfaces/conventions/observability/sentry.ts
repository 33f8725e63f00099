/**
 * Sentry (docs.sentry.io "AI Agents" and "MCP" modules, getsentry/sentry-conventions, sentry-javascript
 * `packages/core/src/integrations/mcp-server`): its own keys under `gen_ai.` and `mcp.`. Data only.
 *
 * Left out: `gen_ai.request.available_tools`, roles, counts and types of content. `gen_ai.tool.input` and
 * `gen_ai.tool.output` are read by `openlit.ts`.
 */
import type { Convention } from '../../reader/convention.ts';
import { messages, structure, text } from '../rows.ts';

export const SENTRY: Convention = {
  name: 'sentry',
  kinds: [{ key: 'mcp.method.name', kinds: { 'tools/call': 'tool' } }],
  attributes: [
    { key: 'gen_ai.request.messages', read: messages('input') },
    { key: 'gen_ai.response.text', read: messages('output') },
    { key: 'gen_ai.response.object', read: structure('agent_output') },
    { key: 'gen_ai.response.tool_calls', read: messages('output') },
    { key: 'gen_ai.embeddings.input', read: structure('step_input') },
    { key: 'mcp.tool.name', read: text('tool_name') },
    { key: 'mcp.prompt.name', read: text('tool_name') },
    { prefix: 'mcp.request.argument.', read: structure('tool_args') },
    {
      prefix: 'mcp.tool.result.',
      except: ['is_error', 'content_count', 'content_type', 'mime_type', 'type'],
      read: structure('tool_result'),
    },
    { prefix: 'mcp.prompt.result.', suffix: 'content', read: structure('tool_result') },
    { key: 'mcp.prompt.result.description', read: text('tool_result') },
    { key: 'mcp.logging.message', read: structure('step_output') },
  ],
};
