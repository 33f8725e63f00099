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
import { structure, text } from '../rows.ts';

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
    { key: 'spring.ai.chat.client.user.text', read: text('step_input') },
    { key: 'spring.ai.chat.client.user.params', read: structure('step_input') },
    { key: 'db.vector.query.content', read: text('query_text') },
    { key: 'spring.ai.tool.definition.name', read: text('tool_name') },
    { key: 'spring.ai.tool.call.arguments', read: structure('tool_args') },
    { key: 'spring.ai.tool.call.result', read: structure('tool_result') },
    { key: 'db.vector.query.response.documents', read: structure('tool_result') },
  ],
  run: {
    names: { sessionId: { 'spring.ai.chat.client.conversation.id': 230 } },
  },
};
