/**
 * The one line that makes an instrumentation send text, for runs that came without. Data only; the same
 * lines are in docs/instrumentations.md. Products that send text without a switch have no line.
 */
import type { StepSelector } from '../reader/convention.ts';

/**
 * Prefixes, also of the attributes' keys, and the line; null where there is no switch, so that a later row's
 * line is not shown.
 */
type CaptureRow = readonly [fits: StepSelector, line: string | null];

/** The first row that fits any step of a run counts: products before what they build on. */
export const CAPTURE: readonly CaptureRow[] = [
  // Its services have the names of the agents, which have other switches.
  [
    { scopes: ['arize-'] },
    'ARIZE_LOG_PROMPTS=true ARIZE_LOG_TOOL_DETAILS=true ARIZE_LOG_TOOL_CONTENT=true',
  ],
  [
    { scopes: ['com.anthropic.claude_code'], services: ['claude-code'] },
    'OTEL_LOG_USER_PROMPTS=1 OTEL_LOG_TOOL_DETAILS=1 OTEL_LOG_RAW_API_BODIES=1',
  ],
  [{ scopes: ['codex'], services: ['codex', 'Codex'] }, 'log_user_prompt = true'],
  [
    { scopes: ['gemini-cli', 'qwen-code'], services: ['gemini-cli', 'qwen-code'] },
    '"telemetry": { "logPrompts": true }',
  ],
  [
    {
      scopes: ['copilot-chat', 'github-copilot', 'github.copilot'],
      services: ['copilot-chat', 'github-copilot'],
      attributes: ['copilot_chat.', 'github.copilot.'],
    },
    'COPILOT_OTEL_CAPTURE_CONTENT=true',
  ],
  [
    { attributes: ['ai.operationId'] },
    'experimental_telemetry: { isEnabled: true, recordInputs: true, recordOutputs: true }',
  ],
  [
    {
      scopes: ['openinference.', '@arizeai/openinference-'],
      attributes: ['openinference.span.kind'],
    },
    'OPENINFERENCE_HIDE_INPUTS=false OPENINFERENCE_HIDE_OUTPUTS=false',
  ],
  [
    { scopes: ['langsmith'], attributes: ['langsmith.span.'] },
    'LANGSMITH_HIDE_INPUTS=false LANGSMITH_HIDE_OUTPUTS=false',
  ],
  [
    { scopes: ['pydantic-ai'] },
    'Agent.instrument_all(InstrumentationSettings(include_content=True))',
  ],
  [{ scopes: ['gcp.vertex.agent'] }, 'ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS=true'],
  [{ scopes: ['livekit-agents'] }, 'allow_pii=True'],
  [{ scopes: ['litellm'], services: ['litellm'] }, 'litellm.turn_off_message_logging = False'],
  [{ attributes: ['spring.ai.'] }, 'spring.ai.tools.observations.include-content=true'],
  [{ scopes: ['openlit'] }, 'openlit.init(capture_message_content=True)'],
  [
    { scopes: ['Microsoft.SemanticKernel'] },
    'AppContext.SetSwitch("Microsoft.SemanticKernel.Experimental.GenAI.EnableOTelDiagnosticsSensitive", true)',
  ],
  [
    { scopes: ['semantic_kernel'] },
    'SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS_SENSITIVE=true',
  ],
  [{ scopes: ['agent_framework'] }, 'ENABLE_SENSITIVE_DATA=true'],
  [
    { scopes: ['Experimental.Microsoft.Extensions.AI', 'Microsoft.Extensions.AI'] },
    'UseOpenTelemetry(configure: client => client.EnableSensitiveData = true)',
  ],
  [{ scopes: ['haystack'], attributes: ['haystack.'] }, 'HAYSTACK_CONTENT_TRACING_ENABLED=true'],
  [
    { scopes: ['openclaw'], services: ['openclaw'], attributes: ['openclaw.'] },
    'diagnostics.otel.captureContent: true',
  ],
  [{ scopes: ['@sentry/'], attributes: ['sentry.'] }, 'Sentry.init({ sendDefaultPii: true })'],
  [
    {
      scopes: [
        '@traceloop/',
        'opentelemetry.instrumentation.anthropic',
        'opentelemetry.instrumentation.bedrock',
        'opentelemetry.instrumentation.crewai',
        'opentelemetry.instrumentation.langchain',
        'opentelemetry.instrumentation.llamaindex',
        'opentelemetry.instrumentation.mcp',
        'opentelemetry.instrumentation.openai.v',
      ],
      attributes: ['traceloop.'],
    },
    'TRACELOOP_TRACE_CONTENT=true',
  ],
  [{ scopes: ['@opentelemetry/instrumentation-openai'] }, 'captureMessageContent: true'],
  [
    {
      scopes: [
        '@voltagent/',
        'agentscope',
        'goose',
        'langfuse-sdk',
        'pipecat',
        'lmnr',
        'logfire',
        'strands.',
      ],
      attributes: [
        'agentscope.',
        'braintrust.',
        'fi.span.kind',
        'flue.',
        'genkit:',
        'langfuse.',
        'lmnr.',
        'mastra.',
        'mlflow.',
      ],
    },
    null,
  ],
  [{ attributes: ['gen_ai.'] }, 'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true'],
];
