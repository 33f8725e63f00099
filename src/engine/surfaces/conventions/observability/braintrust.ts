/**
 * Braintrust's attributes for OpenTelemetry spans (braintrust.dev
 * `docs/integrations/sdk-integrations/opentelemetry/attributes`), which its SDKs for Go, Java, Ruby and
 * .NET write, and other senders to Braintrust. Data only.
 *
 * Left out: `braintrust.metadata*` (settings, tools among them), `braintrust.expected*`,
 * `braintrust.scores` and `braintrust.tags` (evaluations), metrics, `braintrust.parent`. Vectors of
 * embeddings are read, because nothing marks them.
 */

import type { StepKind } from '../../../../model/steps.ts';
import type { AttributeRow, Convention } from '../../reader/convention.ts';
import { INPUT_SURFACE, OUTPUT_SURFACE } from '../../reader/step-surfaces.ts';
import { text } from '../rows.ts';

const TYPES: Readonly<Record<string, StepKind>> = {
  tool: 'tool',
  llm: 'llm',
  task: 'chain',
  function: 'chain',
  eval: 'chain',
  score: 'other',
};

const STRUCTURE = 'braintrust.span_attributes';
const TYPE = 'braintrust.span_attributes.type';

/** @param isEncoded whether the values are JSON, strings too */
function rows(input: string, output: string, isEncoded: boolean): AttributeRow[] {
  const encoded = isEncoded ? ({ encoded: true } as const) : {};
  return [
    { key: input, read: { as: 'exchange', ...encoded, side: 'input', surface: INPUT_SURFACE } },
    { key: output, read: { as: 'exchange', ...encoded, side: 'output', surface: OUTPUT_SURFACE } },
  ];
}

export const BRAINTRUST: Convention = {
  name: 'braintrust',
  appliesTo: {
    scopes: ['braintrust'],
    attributes: [
      STRUCTURE,
      TYPE,
      'braintrust.input_json',
      'braintrust.output_json',
      'braintrust.input',
      'braintrust.output',
    ],
  },
  kinds: [
    { key: TYPE, kinds: TYPES },
    { key: STRUCTURE, member: 'type', kinds: TYPES },
  ],
  attributes: [
    { of: 'name', onKinds: ['tool'], read: text('tool_name') },
    ...rows('braintrust.input_json', 'braintrust.output_json', true),
    ...rows('braintrust.input', 'braintrust.output', false),
  ],
  run: {
    names: { model: { 'braintrust.metadata.model': 100 } },
  },
};
