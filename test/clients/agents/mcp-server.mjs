/** A tool with a planted description, for clients that take tools from MCP servers. */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { z } from 'zod';
import * as story from './story.ts';

const server = new McpServer({ name: 'parcels', version: '1.0.0' });
server.registerTool(
  story.TOOL_NAME,
  { description: story.TOOL_DESCRIPTION, inputSchema: { number: z.string() } },
  async () => ({ content: [{ type: 'text', text: 'Not called.' }] }),
);
await server.connect(new StdioServerTransport());
