/** The order in which the products' keys count, and that no two products claim the same place. */
import { describe, expect, it, test } from 'vitest';
import { CONVENTIONS } from '../../../../src/engine/surfaces/conventions/conventions.ts';
import type { ReadName } from '../../../../src/engine/surfaces/reader/convention.ts';
import {
  cutMarkAt,
  EVENT_NAME_KEYS,
  nameKeys,
  PLACEHOLDERS,
  REFERENCES,
} from '../../../../src/engine/surfaces/reader/run-rows.ts';

const NAMES: Readonly<Record<ReadName, readonly string[]>> = {
  agentName: [
    'langfuse.trace.name',
    'gen_ai.agent.name',
    'gen_ai.workflow.name',
    'traceloop.workflow.name',
    'ai.telemetry.functionId',
    'resource.name',
    'agent_name',
    'agent.name',
    'lk.agent_name',
    'flue.workflow.name',
    'flue.task.agent',
    'graph.node.id',
  ],
  model: [
    'gen_ai.response.model',
    'gen_ai.request.model',
    'langfuse.observation.model.name',
    'llm.response.model_name',
    'llm.model_name',
    'ai.response.model',
    'ai.model.id',
    'mlflow.llm.model',
    'ai.model.name',
    'braintrust.metadata.model',
    'langsmith.metadata.ls_model_name',
    'embedding.model_name',
    'model_name',
    'model',
  ],
  sessionId: [
    'gen_ai.conversation.id',
    'langfuse.session.id',
    'session.id',
    'traceloop.association.properties.conversation_id',
    'traceloop.association.properties.session_id',
    'traceloop.association.properties.thread_id',
    'traceloop.association.properties.chat_id',
    'ai.telemetry.metadata.sessionId',
    'ai.settings.context.sessionId',
    'langsmith.metadata.session_id',
    'langsmith.metadata.thread_id',
    'langsmith.metadata.conversation_id',
    'gcp.vertex.agent.session_id',
    'conversation.id',
    'voltagent.conversation_id',
    'genkit:metadata:agent:sessionId',
    'genkit:sessionId',
    'gen_ai.session.id',
    'langfuse.trace.metadata.langfuse_session_id',
    'langfuse.observation.metadata.langfuse_session_id',
    'lmnr.association.properties.session_id',
    'mlflow.trace.session',
    'spring.ai.chat.client.conversation.id',
    'lk.room_sid',
    'flue.session.name',
    'mastra.metadata.sessionId',
  ],
  userId: [
    'user.id',
    'langfuse.user.id',
    'enduser.id',
    'traceloop.association.properties.user_id',
    'ai.telemetry.metadata.userId',
    'gen_ai.user',
    'gen_ai.user.id',
    'llm.user',
    'gen_ai.request.user',
    'user.email',
    'user.account_id',
    'user.account_uuid',
    'user.name',
    'langfuse.trace.metadata.langfuse_user_id',
    'langfuse.observation.metadata.langfuse_user_id',
    'langsmith.metadata.user_id',
    'lmnr.association.properties.user_id',
    'mlflow.trace.user',
    'mastra.metadata.userId',
    'ai.settings.context.userId',
  ],
};

describe.each(Object.entries(NAMES) as [ReadName, readonly string[]][])('%s', (name, keys) => {
  it('is read from these keys, in this order', () => {
    expect(nameKeys(name)).toEqual(keys);
  });

  it('has every rank and every key once', () => {
    const entries = CONVENTIONS.flatMap(({ run }) => Object.entries(run?.names?.[name] ?? {}));
    expect(new Set(entries.map(([key]) => key)).size).toBe(entries.length);
    expect(new Set(entries.map(([, rank]) => rank)).size).toBe(entries.length);
  });
});

test('placeholders of all products', () => {
  expect([...PLACEHOLDERS].sort()).toEqual([
    '<REDACTED>',
    '<elided>',
    '<not serializable>',
    '<not specified>',
    '<truncated due to size exceeding limit>',
    'FILTERED',
    'N/A',
    '[REDACTED]',
    '__REDACTED__',
    'readacted',
    'redacted-by-litellm',
  ]);
});

test('references, event names and marks of truncation of all products', () => {
  expect(EVENT_NAME_KEYS).toEqual(['event.name', 'event_name']);
  for (const key of ['gen_ai.input.messages_ref', 'body_ref']) {
    expect(REFERENCES.test(key)).toBe(true);
  }
  for (const key of ['gen_ai.input.messages', 'a_body_ref', 'body_refs', 'xgen_ai.a_ref']) {
    expect(REFERENCES.test(key)).toBe(false);
  }
  expect(cutMarkAt('abc...[TRUNCATED: original length 7]')).toBe(3);
  expect(cutMarkAt('abc...[TRUNCATED: original length 7] ')).toBe(-1);
  expect(cutMarkAt('abc]')).toBe(-1);
});
