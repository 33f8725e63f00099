/**
 * OpenLIT (openlit/openlit `sdk/python/src/openlit/semcov/__init__.py`): its own keys next to those
 * of OpenTelemetry GenAI, which `otel-genai.ts` reads, and its keys for MCP. Data only.
 *
 * Left out: role, goal, instructions and tools of agents, `gen_ai.tool.schema`,
 * `gen_ai.tool.parameters`, `gen_ai.serialized.*`, `gen_ai.agent.expected_output` (the operator's),
 * `*.log` (the same as the model wrote it), descriptions, ids; `guard.*` and `evals.*` (evaluations); settings and capabilities in `mcp.*`.
 */
import type { AttributeRow, Convention, SurfaceByKind } from '../../reader/convention.ts';
import { ERROR_SURFACE, INPUT_SURFACE } from '../../reader/step-surfaces.ts';
import { exchange, kindsOf, messages, structure, text } from '../rows.ts';

const GIVEN: SurfaceByKind = { tool: 'tool_result', chain: 'step_output', else: 'agent_output' };

function texts(surface: SurfaceByKind, keys: readonly string[]): AttributeRow[] {
  return keys.map((key) => ({ key, read: text(surface) }));
}

function structures(surface: SurfaceByKind, keys: readonly string[]): AttributeRow[] {
  return keys.map((key) => ({ key, read: structure(surface) }));
}

export const OPENLIT: Convention = {
  name: 'openlit',
  kinds: [
    {
      key: 'gen_ai.operation.name',
      kinds: kindsOf({
        tool: ['mcp_tool_call'],
        agent: ['agent', 'team', 'user_prompt_processing'],
        llm: ['model_request'],
        chain: ['workflow', 'framework', 'graph_execution', 'task', 'execution'],
        retriever: ['retrieve', 'memory_search', 'memory_get', 'vectordb'],
      }),
    },
    { key: 'mcp.method', kinds: { 'tools/call': 'tool' } },
    { has: 'mcp.tool.name', kind: 'tool' },
  ],
  attributes: [
    ...texts('step_input', [
      'gen_ai.agent.task',
      'gen_ai.agent.human_input',
      'gen_ai.retrieval.query',
      'gen_ai.framework.query.text',
      'gen_ai.memory.search.query',
      'gen_ai.knowledge.search.query',
      'gen_ai.vectordb.search.query',
      'gen_ai.message.content',
    ]),
    ...['gen_ai.workflow.input', 'gen_ai.execution.input'].map(
      (key): AttributeRow => ({ key, read: exchange('input', 'step_input') }),
    ),
    ...texts('tool_name', ['gen_ai.agent.action.tool', 'mcp.tool.name']),
    ...structures('tool_args', [
      'gen_ai.tool.args',
      'gen_ai.tool.input',
      'gen_ai.agent.action.tool_input',
      'mcp.tool.arguments',
      'mcp.resource.uri',
    ]),
    ...structures('tool_result', ['gen_ai.tool.output', 'gen_ai.tool.result', 'mcp.tool.result']),
    { key: 'mcp.error.message', aside: true, read: text(ERROR_SURFACE) },
    ...texts('agent_output', ['gen_ai.content.reasoning']),
    { key: 'gen_ai.output_messages', read: messages('output') },
    { key: 'gen_ai.response.tool_calls', read: messages('output') },
    ...structures('agent_output', [
      'gen_ai.agent.actual_output',
      'gen_ai.agent.final_result',
      'gen_ai.agent.finish.output',
    ]),
    ...['gen_ai.workflow.output', 'gen_ai.execution.output'].map(
      (key): AttributeRow => ({ key, read: exchange('output', GIVEN) }),
    ),
    // The whole request and answer of any method.
    ...['mcp.params', 'mcp.request.payload'].map(
      (key): AttributeRow => ({ key, raw: 'input', read: structure(INPUT_SURFACE) }),
    ),
    ...['mcp.result', 'mcp.response.payload'].map(
      (key): AttributeRow => ({ key, raw: 'output', read: structure('tool_result') }),
    ),
  ],
  run: {
    names: { userId: { 'gen_ai.user.id': 70, 'gen_ai.request.user': 90 } },
  },
};
