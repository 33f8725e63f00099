/**
 * Semantic Kernel (microsoft/semantic-kernel) and Agent Framework (microsoft/agent-framework): what
 * they have beside OpenTelemetry GenAI, current and deprecated, which `otel-genai.ts` and
 * `otel-genai-deprecated.ts` read for them and for Microsoft.Extensions.AI. AutoGen's own spans have
 * names only; its text is sent by OpenInference. Data only.
 */
import type { Convention } from '../../reader/convention.ts';
import { messages } from '../rows.ts';

export const MICROSOFT: Convention = {
  name: 'microsoft',
  kinds: [
    // Agent Framework's workflows
    { names: { 'workflow.run': 'chain', 'executor.process': 'chain' } },
  ],
  attributes: [
    // Semantic Kernel's agents, in versions before 1.38 (Python) and in .NET.
    { key: 'gen_ai.agent.invocation_input', read: messages('input') },
    { key: 'gen_ai.agent.invocation_output', read: messages('output') },
  ],
  // Semantic Kernel in Python, of text completion: the body is the prompt.
  events: [{ event: 'gen_ai.prompt', carries: 'message', side: 'input', role: 'user' }],
};
