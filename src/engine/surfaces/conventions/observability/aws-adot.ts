/**
 * AWS Distro for OpenTelemetry in Python, as on Bedrock AgentCore
 * (aws-observability/aws-otel-python-instrumentation `llo_handler.py`): it takes text off spans and
 * sends it as log records. Newer builds send one per span, named like the instrumentation that made
 * the span, with `{input: {messages}, output: {messages}}` as its body; older ones message events, which
 * `otel-genai-deprecated.ts` reads. Data only.
 *
 * On spans of tools the messages are the tool's input and output, whatever their role.
 */
import type { AttributeRow, Convention, Side } from '../../reader/convention.ts';
import { structure } from '../rows.ts';

function member(key: Side, onTool: 'tool_args' | 'tool_result'): AttributeRow[] {
  return [
    {
      key,
      onKinds: ['tool'],
      read: structure(onTool, { take: [['messages', 'content']] }),
    },
    { key, notOnKinds: ['tool'], read: { as: 'messages', side: key } },
  ];
}

export const AWS_ADOT: Convention = {
  name: 'aws-adot',
  namedAsScope: [...member('input', 'tool_args'), ...member('output', 'tool_result')],
};
