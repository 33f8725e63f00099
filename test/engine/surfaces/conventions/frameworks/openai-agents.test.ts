/**
 * The OpenAI Agents SDK under OpenTelemetry (opentelemetry-python-contrib
 * `opentelemetry-instrumentation-openai-agents-v2`, `span_processor.py`). Contents are invented.
 */
import { describe, expect, it } from 'vitest';
import { operation } from '../../../steps.ts';
import { extractSurfaces } from '../../extract-surfaces.ts';
import { read } from '../../read.ts';

const said = (role: string, content: string) => ({ role, parts: [{ type: 'text', content }] });

describe('OpenAI Agents SDK', () => {
  it('an agent has the messages of all below it, a function its arguments and result', () => {
    const agent = operation('invoke_agent', {
      'gen_ai.agent.name': 'weather',
      'gen_ai.system_instructions': '[{"type":"text","content":"Be brief."}]',
      'gen_ai.input.messages': JSON.stringify([said('user', 'Will it rain?')]),
      'gen_ai.output.messages': JSON.stringify([said('assistant', 'Yes.')]),
    });
    const tool = operation('execute_tool', {
      'gen_ai.tool.name': 'search',
      'gen_ai.tool.type': 'function',
      'gen_ai.tool.call.arguments': '{"q":"rain"}',
      'gen_ai.tool.call.result': 'at noon',
    });
    expect(read(agent, tool)).toEqual([
      'step_input: Will it rain?',
      'agent_output: Yes.',
      'tool_name: search',
      'tool_args: {"q":"rain"}',
      'tool_args: rain',
      'tool_result: at noon',
    ]);
  });

  it('what was heard, and what is to be said aloud', () => {
    const heard = operation('transcription', {
      'gen_ai.request.model': 'm',
      'gen_ai.audio.input.format': 'pcm',
      'gen_ai.transcription.text': 'Will it rain?',
    });
    const spoken = operation('speech', {
      'gen_ai.request.model': 'm',
      'gen_ai.speech.voice': 'alto',
      'gen_ai.speech.input_text': 'Yes.',
    });
    expect(read(heard, spoken)).toEqual(['step_input: Will it rain?', 'agent_output: Yes.']);
    expect(extractSurfaces([heard, spoken]).kinds).toEqual(['other', 'other']);
  });

  it('guardrails and handoffs have names only', () => {
    const steps = [
      operation('guardrail', {
        'gen_ai.guardrail.name': 'no insults',
        'gen_ai.guardrail.triggered': true,
      }),
      operation('handoff', {
        'gen_ai.handoff.from_agent': 'weather',
        'gen_ai.handoff.to_agent': 'news',
      }),
    ];
    expect(read(...steps)).toEqual([]);
  });

  it('text that was withheld', () => {
    const step = operation('chat', {
      'gen_ai.input.messages': JSON.stringify([said('user', 'readacted')]),
    });
    expect(read(step)).toEqual([]);
  });
});
