/**
 * OpenInference (Arize `spec/semantic_conventions.md`, `spec/tool_calling.md`): flattened messages,
 * `input.value` and `output.value` by the span's kind. Also Arize's tracing of coding agents
 * (`coding-harness-tracing` 0.1.0), which names parts of a tool's arguments beside them. Data only.
 *
 * Left out: `llm.tools.*`, `llm.invocation_parameters`, `metadata`, `tag.tags` and
 * `llm.prompt_template.template` (the operator's), `reranker.input_documents` (read from the retriever),
 * annotations and evaluations, images, vectors, ids. `tool.parameters` are arguments with some
 * products and their schema with others; a schema is no text.
 */
import type { StepKind } from '../../../../model/steps.ts';
import type { AttributeRow, Convention } from '../../reader/convention.ts';
import { INPUT_SURFACE, OUTPUT_SURFACE } from '../../reader/step-surfaces.ts';
import { exchange, kindsOf, structure, text } from '../rows.ts';

const KIND = 'openinference.span.kind';
const WRAPPERS = ['message', 'message_content', 'tool_call'];

/** Values of the kind, in lower case. */
export const OPENINFERENCE_KINDS: Readonly<Record<string, StepKind>> = kindsOf({
  llm: ['llm'],
  tool: ['tool'],
  agent: ['agent'],
  chain: ['chain', 'prompt'],
  retriever: ['retriever'],
  other: ['reranker', 'guardrail', 'evaluator', 'unknown'],
  embedding: ['embedding'],
});

export const OPENINFERENCE: Convention = {
  name: 'openinference',
  // A span with more attributes than its SDK's limit loses the kind first.
  appliesTo: {
    scopes: ['openinference.', '@arizeai/openinference-'],
    attributes: [KIND, 'input.value', 'output.value', 'llm.model_name'],
  },
  kinds: [
    { key: KIND, kinds: OPENINFERENCE_KINDS },
    { has: 'llm.model_name', kind: 'llm' },
  ],
  attributes: [
    { prefix: 'llm.input_messages.', read: { as: 'flattened', side: 'input', wrappers: WRAPPERS } },
    { prefix: 'llm.prompts.', suffix: '.text', read: text('step_input') },
    { key: 'llm.prompts', read: text('step_input') },
    { key: 'llm.prompt_template.variables', raw: 'input', read: structure('step_input') },
    { key: 'tool.name', read: text('tool_name') },
    { key: 'tool_call.function.name', read: text('tool_name') },
    { key: 'tool_call.function.arguments', read: structure('tool_args') },
    { key: 'tool.parameters', schemaWith: KIND, read: structure('tool_args') },
    { key: 'reranker.query', read: text('step_input') },
    { prefix: 'embedding.embeddings.', suffix: '.embedding.text', read: text('step_input') },
    { prefix: 'retrieval.documents.', suffix: '.document.content', read: structure('tool_result') },
    {
      prefix: 'retrieval.documents.',
      suffix: '.document.metadata',
      aside: true,
      read: structure('tool_result'),
    },
    {
      prefix: 'reranker.output_documents.',
      suffix: '.document.content',
      read: structure('tool_result'),
    },
    {
      prefix: 'llm.output_messages.',
      read: { as: 'flattened', side: 'output', wrappers: WRAPPERS },
    },
    { prefix: 'llm.choices.', suffix: '.text', read: text('agent_output') },
    {
      key: 'llm.function_call',
      aside: true,
      read: structure('tool_args', { name: ['name'], take: ['arguments'], beside: [] }),
    },
    // The only attribute that always has a tool's arguments.
    { key: 'input.value', onKinds: ['tool'], read: exchange('input', INPUT_SURFACE) },
    ...['tool.command', 'tool.file_path', 'tool.query', 'tool.url'].map(
      (key): AttributeRow => ({ key, onKinds: ['tool'], raw: 'input', read: text('tool_args') }),
    ),
    // Devin's thoughts.
    { key: 'llm.reasoning', aside: true, read: text('agent_output') },
    // Beside flattened messages these repeat the whole request and response, tools included.
    {
      key: 'input.value',
      onKinds: ['llm'],
      raw: 'input',
      jsonBy: { key: 'input.mime_type', value: 'application/json' },
      read: exchange('input', INPUT_SURFACE),
    },
    {
      key: 'input.value',
      notOnKinds: ['tool', 'llm'],
      raw: 'input',
      read: exchange('input', INPUT_SURFACE),
    },
    {
      key: 'output.value',
      onKinds: ['chain'],
      echoOf: 'input.value',
      raw: 'output',
      read: exchange('output', OUTPUT_SURFACE),
    },
    {
      key: 'output.value',
      // Vectors.
      notOnKinds: ['chain', 'embedding'],
      raw: 'output',
      read: exchange('output', OUTPUT_SURFACE),
    },
  ],
  run: {
    names: {
      // `graph.node.id`: the OpenAI Agents SDK's agents have their name there.
      agentName: { 'agent.name': 80, 'graph.node.id': 120 },
      model: { 'llm.response.model_name': 40, 'llm.model_name': 50, 'embedding.model_name': 120 },
    },
    placeholders: ['__REDACTED__'],
    // Of Arize's tracing of coding agents.
    placeholderForm: /^<redacted \(\d+ chars\)>$/,
  },
};
