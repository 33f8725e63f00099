/**
 * Spring AI (Spring AI's reference, page "Observability"; spring-projects/spring-ai
 * `ToolCallingObservationDocumentation`, `VectorStoreObservationDocumentation`): its tools, its
 * stores, and the input of its chat client. Its prompts and completions are in attributes and events
 * of OpenTelemetry GenAI 1.27, which `otel-genai-deprecated.ts` reads, filters in
 * `vector-databases.ts`. Data only.
 *
 * Left out: `spring.ai.chat.client.system.*` (the operator's), advisors, descriptions and schemas of
 * tools, ids.
 */
import type { Convention } from '../../reader/convention.ts';

export const SPRING_AI: Convention = {
  name: 'spring-ai',
  kinds: [
    {
      key: 'spring.ai.kind',
      kinds: {
        chat_client: 'agent',
        advisor: 'chain',
        tool_call: 'tool',
        vector_store: 'retriever',
      },
    },
  ],
  attributes: [
    { key: 'spring.ai.chat.client.user.text', read: { as: 'text', surface: 'step_input' } },
    { key: 'spring.ai.chat.client.user.params', read: { as: 'structure', surface: 'step_input' } },
    { key: 'db.vector.query.content', read: { as: 'text', surface: 'query_text' } },
    { key: 'spring.ai.tool.definition.name', read: { as: 'text', surface: 'tool_name' } },
    { key: 'spring.ai.tool.call.arguments', read: { as: 'structure', surface: 'tool_args' } },
    { key: 'spring.ai.tool.call.result', read: { as: 'structure', surface: 'tool_result' } },
    {
      key: 'db.vector.query.response.documents',
      read: { as: 'structure', surface: 'tool_result' },
    },
  ],
  run: {
    names: { sessionId: { 'spring.ai.chat.client.conversation.id': 230 } },
  },
};
