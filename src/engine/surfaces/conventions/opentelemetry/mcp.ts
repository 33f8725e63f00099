/**
 * The Model Context Protocol: as OpenTelemetry tells it (semantic-conventions v1.41
 * `docs/gen-ai/mcp.md`, since then semantic-conventions-genai `model/mcp/spans.yaml`; tool names,
 * arguments and results stand in `otel-genai.ts`), and as Logfire does (pydantic/logfire
 * `logfire/_internal/integrations/mcp.py`). Data only.
 *
 * Left out: `mcp.session.id`, `jsonrpc.request.id`, versions, and of Logfire's requests what stands
 * beside name and arguments (`meta`: trace contexts).
 */
import type { Convention } from '../../reader/convention.ts';

export const MCP: Convention = {
  name: 'mcp',
  attributes: [
    { key: 'gen_ai.prompt.name', read: { as: 'text', place: 'tool_name' } },
    { key: 'mcp.resource.uri', read: { as: 'text', place: 'tool_args' } },
  ],
  events: [],
};

export const LOGFIRE_MCP: Convention = {
  name: 'logfire-mcp',
  on: { scopes: ['logfire.mcp'] },
  kinds: [
    { key: 'rpc.method', kinds: { 'tools/call': 'tool' } },
    { names: { 'MCP server handle request: tools/call': 'tool' } },
  ],
  attributes: [
    {
      key: 'request',
      read: {
        as: 'structure',
        place: 'tool_args',
        envelope: {
          name: [['params', 'name']],
          take: [['params', 'arguments']],
          beside: ['method', 'jsonrpc', 'id'],
        },
      },
    },
    { key: 'response', read: { as: 'structure', place: 'tool_result' } },
    // What a server logs.
    { key: 'data', read: { as: 'structure', place: { tool: 'tool_result', else: 'step_output' } } },
  ],
  events: [],
};
