/**
 * Vector databases as OpenLLMetry instruments them (traceloop/openllmetry
 * `packages/opentelemetry-instrumentation-{chromadb,marqo,milvus,pinecone}`). Contents are invented.
 */
import { expect, it, test } from 'vitest';
import { span } from '../../../steps.ts';
import { extractSurfaces } from '../../extract-surfaces.ts';
import { read, withEvent } from '../../read.ts';

test.each(['chroma', 'pinecone', 'milvus', 'qdrant', 'weaviate', 'marqo'])(
  'a query to %s is a retriever’s step',
  (system) => {
    expect(extractSurfaces([span({ attributes: { 'db.system': system } })]).kinds).toEqual([
      'retriever',
    ]);
  },
);

test.each([
  'db.marqo.search.query',
  'db.chroma.query.where',
  'db.chroma.query.where_document',
  'db.milvus.query.filter',
  'db.milvus.search.filter',
  'pinecone.query.filter',
])('%s is query_text', (key) => {
  expect(read(span({ attributes: { [key]: 'colour = red' } }))).toEqual([
    'query_text: colour = red',
  ]);
});

it('documents found are a result; ids, scores and vectors are no text', () => {
  const query = span({ attributes: { 'db.system': 'chroma' } });
  const found = withEvent(query, 'db.query.result', {
    'db.query.result.id': 'd-1',
    'db.query.result.score': 0.5,
    'db.query.result.distance': 0.1,
    'db.query.result.document': 'about hats',
    'db.query.result.metadata': '{"source":"wiki"}',
    'db.query.result.vector': '[0.1]',
  });
  expect(read(found)).toEqual([
    'tool_result: about hats',
    'tool_result: {"source":"wiki"}',
    'tool_result: wiki',
  ]);
  const entity = withEvent(query, 'db.search.result', { 'db.search.result.entity': 'about hats' });
  expect(read(entity)).toEqual(['tool_result: about hats']);
  const vectors = withEvent(query, 'db.query.embeddings', { 'db.query.embeddings.vector': '[1]' });
  expect(read(vectors)).toEqual([]);
});
