/**
 * The Vercel AI SDK's own telemetry, tracer `ai` (`packages/otel/src/legacy-open-telemetry.ts`; all
 * versions to 6, and 7 on demand). Version 7 writes OpenTelemetry GenAI, which `otel-genai.ts`
 * reads. Data only.
 *
 * Left out: `ai.prompt.tools`, `ai.schema*`, `ai.settings.*`, headers, files, vectors, timings.
 */

import type { StepKind } from '../../../../model/steps.ts';
import type { Convention } from '../../reader/convention.ts';
import { exchange, messages, structure, text } from '../rows.ts';

/** The calls that may run for several steps; each step is a `.doGenerate` or `.doStream` below. */
const OUTER = ['ai.generatetext', 'ai.streamtext', 'ai.generateobject', 'ai.streamobject'];

const OPERATIONS: Readonly<Record<string, StepKind>> = {
  'ai.toolcall': 'tool',
  ...Object.fromEntries(OUTER.map((name) => [name, 'agent' as const])),
  ...Object.fromEntries(
    OUTER.flatMap((name) => [
      [`${name}.dogenerate`, 'llm' as const],
      [`${name}.dostream`, 'llm' as const],
    ]),
  ),
};

export const VERCEL_AI_SDK: Convention = {
  name: 'vercel-ai-sdk',
  appliesTo: { attributes: ['ai.operationId'] },
  kinds: [{ key: 'ai.operationId', kinds: OPERATIONS }],
  attributes: [
    { key: 'ai.prompt.messages', read: messages('input') },
    {
      key: 'ai.prompt',
      // The rest of it is `system`, the operator's own text.
      read: exchange('input', 'step_input', { take: ['messages', 'prompt'] }),
    },
    { key: 'ai.value', read: text('step_input') },
    { key: 'ai.values', read: text('step_input') },
    // To be ranked. The ranking repeats them.
    { key: 'ai.documents', read: text('step_input') },
    { key: 'ai.toolCall.name', read: text('tool_name') },
    { key: 'ai.toolCall.args', read: structure('tool_args') },
    { key: 'ai.toolCall.result', read: structure('tool_result') },
    { key: 'ai.response.reasoning', read: text('agent_output') },
    { key: 'ai.response.text', read: text('agent_output') },
    { key: 'ai.response.object', read: structure('agent_output') },
    { key: 'ai.response.toolCalls', read: messages('output') },
    { key: 'ai.result.text', read: text('agent_output') },
    { key: 'ai.result.object', read: structure('agent_output') },
    { key: 'ai.result.toolCalls', read: messages('output') },
  ],
  run: {
    names: {
      agentName: { 'ai.telemetry.functionId': 50, 'resource.name': 60 },
      model: { 'ai.response.model': 60, 'ai.model.id': 70 },
      sessionId: { 'ai.telemetry.metadata.sessionId': 80, 'ai.settings.context.sessionId': 90 },
      userId: { 'ai.telemetry.metadata.userId': 50, 'ai.settings.context.userId': 200 },
    },
  },
};
