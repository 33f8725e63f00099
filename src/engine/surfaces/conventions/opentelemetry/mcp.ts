/**
 * The Model Context Protocol: in OpenTelemetry (semantic-conventions v1.41 `docs/gen-ai/mcp.md`, since
 * then semantic-conventions-genai `model/mcp/spans.yaml`; tool names, arguments and results are read by
 * `otel-genai.ts`), and in Logfire (pydantic/logfire `logfire/_internal/integrations/mcp.py`). Data only.
 *
 * Left out: `mcp.session.id` (a transport), `jsonrpc.request.id`, versions, and of Logfire's requests
 * the members beside name and arguments (`meta`: trace contexts).
 */
import type { Convention } from '../../reader/convention.ts';
import { ERROR_SURFACE } from '../../reader/step-surfaces.ts';
import { structure, text } from '../rows.ts';

export const MCP: Convention = {
  name: 'mcp',
  attributes: [
    { key: 'gen_ai.prompt.name', read: text('tool_name') },
    { key: 'mcp.resource.uri', read: text('tool_args') },
  ],
};

export const LOGFIRE_MCP: Convention = {
  name: 'logfire-mcp',
  appliesTo: { scopes: ['logfire.mcp'] },
  kinds: [
    { key: 'rpc.method', kinds: { 'tools/call': 'tool' } },
    { names: { 'MCP server handle request: tools/call': 'tool' } },
  ],
  attributes: [
    {
      key: 'request',
      read: {
        as: 'structure',
        surface: 'tool_args',
        envelope: {
          name: [['params', 'name']],
          take: [['params', 'arguments']],
          beside: ['method', 'jsonrpc', 'id'],
        },
      },
    },
    { key: 'response', read: structure('tool_result') },
    // A server's log.
    { key: 'data', read: structure(ERROR_SURFACE) },
  ],
};
