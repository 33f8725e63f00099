/**
 * Google's Agent Development Kit (google/adk-python `src/google/adk/telemetry/tracing.py`), and the
 * tool spans of google-genai under OpenTelemetry (`opentelemetry-instrumentation-google-genai`,
 * versions before the shared GenAI utilities). Their attributes and events of OpenTelemetry GenAI are
 * read by `otel-genai.ts` and `otel-genai-deprecated.ts`. Data only.
 *
 * Left out: `config` of a request (system instruction, tools), `gcp.vertex.agent.*_id`, types of
 * parameters, counts; `{}` and `N/A`, which mean that there is no value.
 */
import type { Convention } from '../../reader/convention.ts';
import { messages, structure } from '../rows.ts';

export const GOOGLE_ADK: Convention = {
  name: 'google-adk',
  appliesTo: {
    scopes: ['gcp.vertex.agent'],
    attributes: [
      'gcp.vertex.agent.llm_request',
      'gcp.vertex.agent.llm_response',
      'gcp.vertex.agent.tool_call_args',
      'gcp.vertex.agent.tool_response',
      'gcp.vertex.agent.data',
    ],
  },
  kinds: [
    // The root of a run.
    { names: { invocation: 'agent', call_llm: 'llm' } },
  ],
  attributes: [
    {
      key: 'gcp.vertex.agent.llm_request',
      read: messages('input', { take: ['contents'], beside: ['model', 'config'] }),
    },
    { key: 'gcp.vertex.agent.data', read: messages('input') },
    { key: 'gcp.vertex.agent.tool_call_args', read: structure('tool_args') },
    { key: 'gcp.vertex.agent.tool_response', read: structure('tool_result') },
    {
      key: 'gcp.vertex.agent.llm_response',
      read: {
        as: 'messages',
        side: 'output',
        envelope: {
          take: ['content', 'error_message'],
          beside: [
            'model_version',
            'finish_reason',
            'error_code',
            'usage_metadata',
            'partial',
            'turn_complete',
            'interrupted',
            'avg_logprobs',
          ],
        },
      },
    },
  ],
  run: {
    names: { sessionId: { 'gcp.vertex.agent.session_id': 130 } },
    placeholders: ['<elided>', 'N/A', '<not specified>', '<not serializable>'],
  },
};

export const GOOGLE_GENAI: Convention = {
  name: 'google-genai',
  attributes: [
    { prefix: 'code.function.parameters.', suffix: '.value', read: structure('tool_args') },
    { key: 'code.function.return.value', read: structure('tool_result') },
  ],
};
