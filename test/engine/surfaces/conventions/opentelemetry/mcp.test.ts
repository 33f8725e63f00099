/**
 * MCP as OpenTelemetry writes it down (semantic-conventions v1.41 `docs/gen-ai/mcp.md`) and as Logfire
 * sends it (pydantic/logfire `logfire/_internal/integrations/mcp.py`). Contents are invented.
 */
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../../../src/model/json.ts';
import type { Step } from '../../../../../src/model/steps.ts';
import { operation, span } from '../../../steps.ts';
import { extractSurfaces } from '../../extract-surfaces.ts';
import { read } from '../../read.ts';

const mcp = (method: string, attributes: JsonObject = {}) =>
  span({
    attributes: {
      'mcp.method.name': method,
      'mcp.session.id': 'a transport',
      'mcp.protocol.version': '2025-06-18',
      'jsonrpc.request.id': '7',
      ...attributes,
    },
  });

const call = {
  'gen_ai.tool.name': 'send_mail',
  'gen_ai.tool.call.arguments': '{"to":"a@b.example"}',
  'gen_ai.tool.call.result': 'sent',
};
const called = [
  'tool_name: send_mail',
  'tool_args: {"to":"a@b.example"}',
  'tool_args: a@b.example',
  'tool_result: sent',
];

describe('MCP, OpenTelemetry', () => {
  it.each<[string, Step, string[]]>([
    [
      'a tool call',
      mcp('tools/call', { 'gen_ai.operation.name': 'execute_tool', ...call }),
      called,
    ],
    ['a tool call without an operation', mcp('tools/call', call), called],
    [
      'a tool that failed',
      {
        ...mcp('tools/call', { 'error.type': 'tool_error' }),
        statusCode: 2,
        statusMessage: 'no such address',
      },
      ['tool_result: no such address'],
    ],
    [
      'a prompt and its variables',
      mcp('prompts/get', {
        'gen_ai.prompt.name': 'summarise',
        'gen_ai.prompt.variable.text': 'long text',
      }),
      ['tool_name: summarise', 'tool_args: long text'],
    ],
    [
      'a resource',
      mcp('resources/read', { 'mcp.resource.uri': 'file:///etc/passwd' }),
      ['tool_args: file:///etc/passwd'],
    ],
    ['nothing but ids', mcp('initialize'), []],
  ])('%s', (_what, step, expected) => {
    expect(read(step)).toEqual(expected);
  });

  it('a call seen by agent, client and server is read from each of them', () => {
    const steps = [
      operation('execute_tool', call),
      mcp('tools/call', call),
      mcp('tools/call', { 'gen_ai.tool.name': 'send_mail', 'gen_ai.tool.call.result': 'sent' }),
    ];
    expect(extractSurfaces(steps).kinds).toEqual(['tool', 'tool', 'tool']);
    const found = [...called, ...called, 'tool_name: send_mail', 'tool_result: sent'];
    expect(read(...steps)).toEqual(found);
  });
});

describe('MCP, Logfire', () => {
  const logfire = (name: string, attributes: JsonObject) =>
    span({ scopeName: 'logfire.mcp', name, attributes });
  const request = {
    method: 'tools/call',
    params: {
      name: 'send_mail',
      arguments: { to: 'a@b.example' },
      meta: { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' },
    },
  };
  const response = { content: [{ type: 'text', text: 'sent' }], isError: false };
  const answered = [
    'tool_result: {"content":[{"type":"text","text":"sent"}],"isError":false}',
    'tool_result: text\nsent',
  ];

  it('a tool call, by the client and by the server', () => {
    const found = { request: JSON.stringify(request), response: JSON.stringify(response) };
    const client = logfire('MCP request: tools/call send_mail', {
      'rpc.system': 'jsonrpc',
      'rpc.method': 'tools/call',
      ...found,
    });
    const server = logfire('MCP server handle request: tools/call', found);
    const texts = [...called.slice(0, 3), ...answered];
    expect(read(client)).toEqual(texts);
    expect(read(server)).toEqual(texts);
    expect(extractSurfaces([client, server]).kinds).toEqual(['tool', 'tool']);
  });

  it('other requests are read whole', () => {
    const step = logfire('MCP request: resources/read', {
      'rpc.method': 'resources/read',
      request: '{"method":"resources/read","params":{"uri":"file:///a"}}',
    });
    expect(read(step)).toEqual([
      'tool_args: {"method":"resources/read","params":{"uri":"file:///a"}}',
      'tool_args: resources/read\nfile:///a',
    ]);
  });

  it('a request with unknown members is read whole', () => {
    const found = JSON.stringify({ ...request, note: 'unknown' });
    expect(read(logfire('MCP request', { request: found }))).toEqual([
      `tool_args: ${found}`,
      `tool_args: tools/call\nsend_mail\na@b.example\n${request.params.meta.traceparent}\nunknown`,
    ]);
  });

  it('what a server logs', () => {
    expect(read(logfire('MCP server log', { data: 'disk is full' }))).toEqual([
      'step_output: disk is full',
    ]);
  });

  it('the same keys of others mean nothing', () => {
    expect(read(span({ attributes: { request: 'a', response: 'b', data: 'c' } }))).toEqual([]);
  });
});
