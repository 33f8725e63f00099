/**
 * The one line that makes an instrumentation send text, for runs that came without. Data only; the same
 * lines are in docs/instrumentations.md. Products that send text without a switch have no line.
 */
import type { StepSelector } from '../reader/convention.ts';

export interface CaptureRow {
  /** prefixes, also of the attributes' keys */
  readonly fits: StepSelector;
  /** null where there is no switch, so that a later row's line is not shown */
  readonly line: string | null;
}

/** The first row that fits any step of a run counts: products before what they build on. */
export const CAPTURE: readonly CaptureRow[] = [
  {
    // Its services have the names of the agents, which have other switches.
    fits: { scopes: ['arize-'] },
    line: 'ARIZE_LOG_PROMPTS=true ARIZE_LOG_TOOL_DETAILS=true ARIZE_LOG_TOOL_CONTENT=true',
  },
  {
    fits: { scopes: ['com.anthropic.claude_code'], services: ['claude-code'] },
    line: 'OTEL_LOG_USER_PROMPTS=1 OTEL_LOG_TOOL_DETAILS=1 OTEL_LOG_RAW_API_BODIES=1',
  },
  { fits: { scopes: ['codex'], services: ['codex', 'Codex'] }, line: 'log_user_prompt = true' },
  {
    fits: { scopes: ['gemini-cli', 'qwen-code'], services: ['gemini-cli', 'qwen-code'] },
    line: '"telemetry": { "logPrompts": true }',
  },
  {
    fits: {
      scopes: ['copilot-chat', 'github-copilot', 'github.copilot'],
      services: ['copilot-chat', 'github-copilot'],
      attributes: ['copilot_chat.', 'github.copilot.'],
    },
    line: 'COPILOT_OTEL_CAPTURE_CONTENT=true',
  },
  {
    fits: { attributes: ['ai.operationId'] },
    line: 'experimental_telemetry: { isEnabled: true, recordInputs: true, recordOutputs: true }',
  },
  {
    fits: {
      scopes: ['openinference.', '@arizeai/openinference-'],
      attributes: ['openinference.span.kind'],
    },
    line: 'OPENINFERENCE_HIDE_INPUTS=false OPENINFERENCE_HIDE_OUTPUTS=false',
  },
  {
    fits: { scopes: ['langsmith'], attributes: ['langsmith.span.'] },
    line: 'LANGSMITH_HIDE_INPUTS=false LANGSMITH_HIDE_OUTPUTS=false',
  },
  {
    fits: { scopes: ['pydantic-ai'] },
    line: 'Agent.instrument_all(InstrumentationSettings(include_content=True))',
  },
  { fits: { scopes: ['gcp.vertex.agent'] }, line: 'ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS=true' },
  { fits: { scopes: ['livekit-agents'] }, line: 'allow_pii=True' },
  {
    fits: { scopes: ['litellm'], services: ['litellm'] },
    line: 'litellm.turn_off_message_logging = False',
  },
  {
    fits: { attributes: ['spring.ai.'] },
    line: 'spring.ai.tools.observations.include-content=true',
  },
  { fits: { scopes: ['openlit'] }, line: 'openlit.init(capture_message_content=True)' },
  {
    fits: { scopes: ['Microsoft.SemanticKernel'] },
    line: 'AppContext.SetSwitch("Microsoft.SemanticKernel.Experimental.GenAI.EnableOTelDiagnosticsSensitive", true)',
  },
  {
    fits: { scopes: ['semantic_kernel'] },
    line: 'SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS_SENSITIVE=true',
  },
  { fits: { scopes: ['agent_framework'] }, line: 'ENABLE_SENSITIVE_DATA=true' },
  {
    fits: { scopes: ['Experimental.Microsoft.Extensions.AI', 'Microsoft.Extensions.AI'] },
    line: 'UseOpenTelemetry(configure: client => client.EnableSensitiveData = true)',
  },
  {
    fits: { scopes: ['haystack'], attributes: ['haystack.'] },
    line: 'HAYSTACK_CONTENT_TRACING_ENABLED=true',
  },
  {
    fits: { scopes: ['openclaw'], services: ['openclaw'], attributes: ['openclaw.'] },
    line: 'diagnostics.otel.captureContent: true',
  },
  {
    fits: { scopes: ['@sentry/'], attributes: ['sentry.'] },
    line: 'Sentry.init({ sendDefaultPii: true })',
  },
  {
    fits: {
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
    line: 'TRACELOOP_TRACE_CONTENT=true',
  },
  {
    fits: { scopes: ['@opentelemetry/instrumentation-openai'] },
    line: 'captureMessageContent: true',
  },
  {
    fits: {
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
    line: null,
  },
  {
    fits: { attributes: ['gen_ai.'] },
    line: 'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true',
  },
];
