/** What a new agent key shows: guides with the key and the address filled in, and whether data arrived. */
import { expect, test } from 'vitest';

import {
  loadDocumentation,
  pageAssets,
  pathsOf,
  sendGuides,
} from '../../../../src/main/documents.ts';
import { arrivalPage, connectSection } from '../../../../src/web/app/keys/connect.ts';
import { LOOK, NOW_MS, viewer } from '../fixtures.ts';

const KEY = 'acme_live_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG';
const assets = pageAssets();
const site = { brand: 'acme', baseUrl: 'http://b', version: '1', assets: pathsOf(assets) };
const noApi = () => {
  throw new Error('no page of docs/send has the API');
};
const guides = sendGuides(loadDocumentation(site, noApi, assets));
const { text } = connectSection(7, KEY, { guides, observeUrl: 'https://observe.test' }, NOW_MS);

test('every guide is there once, with the key and the address, and nothing to replace', () => {
  expect(guides.length).toBeGreaterThan(20);
  expect(text.match(/<details name="sdk"/g)).toHaveLength(guides.length);
  expect(text.match(/<details name="sdk" open>/g)).toHaveLength(1);
  expect(text).toContain(`Authorization=Bearer%20${KEY}`);
  expect(text).toContain('OTEL_EXPORTER_OTLP_ENDPOINT=https://observe.test\n');
  expect(text).toContain('npm install ');
  expect(text).toContain('export OTEL_SERVICE_NAME=my-agent');
  expect(text).not.toMatch(/sluice_live_|localhost:4318| id="/);
});

test('the status waits, names a use without a run, and leads to the first run', () => {
  const page = (arrival: Partial<Parameters<typeof arrivalPage>[3]['arrival']>) =>
    arrivalPage(LOOK, viewer(), 7, {
      arrival: { name: 'k', lastUsedAt: null, run: null, ...arrival },
      nowMs: NOW_MS,
    }).text;
  expect(text).toContain('data-arrival="/app/keys/7/arrival"');
  expect(page({})).toContain('Waiting for the first span…');
  expect(page({})).not.toContain('was last used');
  expect(page({ lastUsedAt: new Date(NOW_MS) })).toContain('and no run arrived');
  const run = { id: 'ab'.repeat(16), at: new Date(NOW_MS) };
  expect(page({ run })).toContain(`href="/app/runs/${run.id}"`);
  expect(page({ run })).not.toContain('Waiting for');
});
