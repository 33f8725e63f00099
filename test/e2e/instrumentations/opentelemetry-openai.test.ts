/**
 * OpenTelemetry's own instrumentation of the OpenAI client, against a stub of the provider's API.
 * Its text comes as log records, one per message, beside the span.
 */
import { createRequire } from 'node:module';
import { OpenAIInstrumentation } from '@opentelemetry/instrumentation-openai';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import type OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { type Instrumented, openInstrumented, PLANTED } from './instrumented.ts';
import { SURFACES, tellStory } from './openai-story.ts';
import { type ProviderStub, startProvider } from './openai-stub.ts';

let instrumented: Instrumented;
let provider: ProviderStub;
let client: OpenAI;
let instrumentation: OpenAIInstrumentation;
beforeAll(async () => {
  instrumented = await openInstrumented();
  provider = await startProvider();
  instrumentation = new OpenAIInstrumentation({ captureMessageContent: true });
  instrumentation.setTracerProvider(instrumented.tracerProvider);
  instrumentation.setLoggerProvider(instrumented.loggerProvider);
  // Without one it fails over streamed answers.
  instrumentation.setMeterProvider(new MeterProvider());
  // It instruments what is required after it.
  const required = createRequire(import.meta.url)('openai') as { OpenAI: typeof OpenAI };
  client = new required.OpenAI({ apiKey: 'unused', baseURL: provider.baseUrl, maxRetries: 0 });
});
afterAll(async () => {
  instrumentation.disable();
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
