/** LangChain JS with OpenInference's instrumentation: a chain, a fake chat model and a tool. */
import { LangChainInstrumentation } from '@arizeai/openinference-instrumentation-langchain';
import * as callbackManager from '@langchain/core/callbacks/manager';
import { HumanMessage, SystemMessage } from '@langchain/core/messages';
import { RunnableLambda } from '@langchain/core/runnables';
import { tool } from '@langchain/core/tools';
import { FakeListChatModel } from '@langchain/core/utils/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';

import { type Instrumented, openInstrumented, PLANTED, type Story } from './instrumented.ts';

let instrumented: Instrumented;
beforeAll(async () => {
  instrumented = await openInstrumented();
  const instrumentation = new LangChainInstrumentation();
  instrumentation.setTracerProvider(instrumented.tracerProvider);
  instrumentation.manuallyInstrument(callbackManager);
});
afterAll(() => instrumented.close());

async function tellStory({ user, toolArgs, toolResult, answer }: Story): Promise<void> {
  const model = new FakeListChatModel({ responses: [answer] });
  const shell = tool(async () => toolResult, {
    name: 'run_shell',
    description: 'Runs a command.',
    schema: z.object({ command: z.string() }),
  });
  const agent = RunnableLambda.from(async (question: string, config) => {
    await shell.invoke({ command: toolArgs }, config);
    const said = await model.invoke(
      [new SystemMessage('Be kind.'), new HumanMessage(question)],
      config,
    );
    return said.content;
  }).withConfig({ runName: 'parcels' });
  await agent.invoke(user);
}

test.each(PLANTED)('an attack in %s is found on %s', async (place, surface) => {
  // The chain repeats the answer of its model; the finding is in the model's step.
  expect(await instrumented.plant(place, tellStory)).toBe(surface);
});

test('each text is on its surface', async () => {
  expect(await instrumented.surfaces(tellStory)).toEqual([
    'agent_output: It is on its way to you.',
    'step_input: Where is parcel 4471?',
    'step_output: It is on its way to you.',
    'tool_args: parcel 4471',
    'tool_name: run_shell',
    'tool_result: It left the depot at noon.',
  ]);
});
