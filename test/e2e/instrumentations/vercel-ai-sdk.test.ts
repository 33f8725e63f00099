/** The Vercel AI SDK with its mock model: text, tool calls, streaming. */
import {
  generateText,
  type LanguageModel,
  simulateReadableStream,
  stepCountIs,
  streamText,
  tool,
} from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';

import { type Instrumented, openInstrumented, PLANTED, type Story } from './instrumented.ts';

type Answer = Awaited<ReturnType<MockLanguageModelV3['doGenerate']>>;
type Piece =
  Awaited<ReturnType<MockLanguageModelV3['doStream']>>['stream'] extends ReadableStream<infer P>
    ? P
    : never;

const SYSTEM = 'You are the assistant of a parcel service.';
const USAGE: Answer['usage'] = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const CALLS = { unified: 'tool-calls', raw: undefined } as const;
const STOP = { unified: 'stop', raw: undefined } as const;

let instrumented: Instrumented;
beforeAll(async () => {
  instrumented = await openInstrumented();
});
afterAll(() => instrumented.close());

/** Calls the tool first, then answers; whole or piece by piece. */
function modelOf({ toolArgs, answer }: Story): LanguageModel {
  const call = {
    type: 'tool-call' as const,
    toolCallId: 'call_1',
    toolName: 'run_shell',
    input: JSON.stringify({ command: toolArgs }),
  };
  let turns = 0;
  const middle = answer.length >> 1;
  const said: Piece[] = [
    { type: 'text-start', id: '1' },
    { type: 'text-delta', id: '1', delta: answer.slice(0, middle) },
    { type: 'text-delta', id: '1', delta: answer.slice(middle) },
    { type: 'text-end', id: '1' },
  ];
  return new MockLanguageModelV3({
    doGenerate: async () => {
      turns += 1;
      return turns === 1
        ? { content: [call], finishReason: CALLS, usage: USAGE, warnings: [] }
        : {
            content: [{ type: 'text', text: answer }],
            finishReason: STOP,
            usage: USAGE,
            warnings: [],
          };
    },
    doStream: async () => {
      turns += 1;
      const finish = { type: 'finish' as const, usage: USAGE };
      const chunks: Piece[] =
        turns === 1
          ? [call, { ...finish, finishReason: CALLS }]
          : [...said, { ...finish, finishReason: STOP }];
      return { stream: simulateReadableStream({ chunks }) };
    },
  });
}

async function tellStory(story: Story, stream: boolean): Promise<void> {
  const call = {
    model: modelOf(story),
    system: SYSTEM,
    prompt: story.user,
    tools: {
      run_shell: tool({
        description: 'Runs a command.',
        inputSchema: z.object({ command: z.string() }),
        execute: async () => story.toolResult,
      }),
    },
    stopWhen: stepCountIs(3),
    experimental_telemetry: { isEnabled: true, functionId: 'parcels' },
  };
  const text = stream ? await streamText(call).text : (await generateText(call)).text;
  if (text !== story.answer) throw new Error(`the model said ${text}`);
}

describe.each([
  ['generateText', false],
  ['streamText', true],
])('%s', (_how, stream) => {
  test.each(PLANTED)('an attack in %s is found on %s', async (place, surface) => {
    const found = await instrumented.plant(place, (story) => tellStory(story, stream));
    expect(found).toBe(surface);
  });

  test('each text is on its surface, once, and nothing else is read', async () => {
    expect(await instrumented.surfaces((story) => tellStory(story, stream))).toEqual([
      'agent_output: It is on its way to you.',
      'step_input: Where is parcel 4471?',
      'tool_args: parcel 4471',
      'tool_args: {"command":"parcel 4471"}',
      'tool_name: run_shell',
      // As the SDK wrote it, and what it means.
      'tool_result: "It left the depot at noon."',
      'tool_result: It left the depot at noon.',
    ]);
  });

  test('the run keeps the name, the model and the state that its spans tell', async () => {
    await instrumented.surfaces((story) => tellStory(story, stream));
    const { rows } = await instrumented.gateway.database.query(
      `SELECT DISTINCT state, agent_name, model, text_gaps FROM runs
        WHERE evaluation = 'evaluated' AND workspace_id = $1`,
      [instrumented.gateway.workspace.id],
    );
    expect(rows).toEqual([
      { state: 'completed', agent_name: 'parcels', model: 'mock-model-id', text_gaps: null },
    ]);
  });
});

test('the definition of its tool is kept, once', async () => {
  expect(await instrumented.tools()).toEqual([
    'run_shell: Runs a command. {"$schema":"http://json-schema.org/draft-07/schema#","additionalProperties":false,' +
      '"properties":{"command":{"type":"string"}},"required":["command"],"type":"object"}',
  ]);
});
