/** Traceloop's (OpenLLMetry's) instrumentation of the OpenAI client, against a stub of the provider's API. */
import { OpenAIInstrumentation } from '@traceloop/instrumentation-openai';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { type Instrumented, openInstrumented, PLANTED } from './instrumented.ts';
import { SURFACES, tellStory, unwrap } from './openai-story.ts';
import { type ProviderStub, startProvider } from './openai-stub.ts';

let instrumented: Instrumented;
let provider: ProviderStub;
let client: OpenAI;
let instrumentation: OpenAIInstrumentation;
beforeAll(async () => {
  instrumented = await openInstrumented();
  provider = await startProvider();
  instrumentation = new OpenAIInstrumentation({ traceContent: true });
  instrumentation.setTracerProvider(instrumented.tracerProvider);
  instrumentation.manuallyInstrument(OpenAI);
  client = new OpenAI({ apiKey: 'unused', baseURL: provider.baseUrl, maxRetries: 0 });
});
afterAll(async () => {
  instrumentation.disable();
  unwrap(OpenAI);
  await provider.close();
  await instrumented.close();
});

describe.each([
  ['whole', false],
  ['streamed', true],
])('answers that come %s', (_how, stream) => {
  test.each(PLANTED)('an attack in %s is found on %s', async (place, surface) => {
    const tell = instrumented.plant(place, (story) => tellStory(client, provider, story, stream));
    expect(await tell).toBe(surface);
  });

  test('each text is on its surface, once, and nothing else is read', async () => {
    const read = instrumented.surfaces((story) => tellStory(client, provider, story, stream));
    expect(await read).toEqual(SURFACES);
  });
});

test('the definition of its tool is kept, once', async () => {
  expect(await instrumented.tools()).toEqual([
    'run_shell: Runs a command. {"properties":{"command":{"type":"string"}},"type":"object"}',
  ]);
});
