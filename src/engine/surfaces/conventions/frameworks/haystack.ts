/**
 * Haystack's own tracing (deepset-ai/haystack `haystack/tracing`, `HAYSTACK_CONTENT_TRACING_ENABLED`): what
 * goes into and comes out of components, agents and pipelines, as JSON. A pipeline's text repeats its components
 * once more, without the authors. Data only.
 *
 * Left out: specifications of inputs and outputs, metadata.
 */
import type { StepKind } from '../../../../model/steps.ts';
import type { AttributeRow, Convention, MemberPath, Side } from '../../reader/convention.ts';
import { INPUT_SURFACE, OUTPUT_SURFACE } from '../../reader/step-surfaces.ts';

const GENERATORS = [
  'AmazonBedrock',
  'Anthropic',
  'Azure',
  'AzureOpenAI',
  'Cohere',
  'FallbackChat',
  'GoogleAI',
  'GoogleGenAI',
  'HuggingFaceAPI',
  'HuggingFaceLocal',
  'LlamaCpp',
  'Mistral',
  'Nvidia',
  'Ollama',
  'OpenAI',
  'OpenAIResponses',
  'OpenRouter',
  'VertexAI',
];

const KINDS: Readonly<Record<string, StepKind>> = {
  ...Object.fromEntries(
    GENERATORS.flatMap((name) =>
      ['generator', 'chatgenerator'].map((end) => [`${name.toLowerCase()}${end}`, 'llm']),
    ),
  ),
  agent: 'agent',
  toolinvoker: 'tool',
  inmemorybm25retriever: 'retriever',
  inmemoryembeddingretriever: 'retriever',
};

function exchange(key: string, side: Side, take: readonly MemberPath[] = []): AttributeRow {
  const surface = side === 'input' ? INPUT_SURFACE : OUTPUT_SURFACE;
  const envelope = take.length === 0 ? {} : { envelope: { take, beside: ['meta', 'usage'] } };
  return { key, read: { as: 'exchange', side, surface, encoded: true, ...envelope } };
}

export const HAYSTACK: Convention = {
  name: 'haystack',
  kinds: [
    { key: 'haystack.component.type', kinds: KINDS },
    { names: { 'haystack.agent.run': 'agent', 'haystack.pipeline.run': 'chain' } },
  ],
  attributes: [
    exchange('haystack.component.input', 'input'),
    exchange('haystack.component.output', 'output', ['replies', 'tool_messages']),
    exchange('haystack.agent.input', 'input'),
    exchange('haystack.agent.output', 'output'),
    exchange('haystack.pipeline.input_data', 'input'),
    exchange('haystack.pipeline.output_data', 'output'),
  ],
};
