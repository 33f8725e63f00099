/**
 * Queries to vector databases and their results, as written by OpenLLMetry
 * (traceloop/openllmetry `packages/opentelemetry-instrumentation-{chromadb,marqo,milvus,pinecone}`) and
 * OpenLIT (`db.filter` and similar keys). Data only.
 *
 * Left out: vectors (the events `db.query.embeddings` and `db.search.embeddings`), ids, scores,
 * distances, counts, names of collections.
 */

import type { StepKind } from '../../../../model/steps.ts';
import type { AttributeRow, Convention } from '../../reader/convention.ts';
import { structure, text } from '../rows.ts';

const SYSTEMS: Readonly<Record<string, StepKind>> = Object.fromEntries(
  ['astra', 'chroma', 'lancedb', 'marqo', 'milvus', 'pinecone', 'qdrant', 'weaviate'].map(
    (name) => [name, 'retriever' as const],
  ),
);

function found(key: string): AttributeRow {
  return { key, read: structure('tool_result') };
}

export const VECTOR_DATABASES: Convention = {
  name: 'vector-databases',
  kinds: [
    { key: 'db.system', kinds: SYSTEMS },
    { key: 'db.system.name', kinds: SYSTEMS },
  ],
  attributes: [
    'db.marqo.search.query',
    'db.chroma.query.where',
    'db.chroma.query.where_document',
    'db.chroma.get.where',
    'db.chroma.get.where_document',
    'db.chroma.delete.where',
    'db.chroma.delete.where_document',
    'db.milvus.query.filter',
    'db.milvus.search.filter',
    'db.milvus.delete.filter',
    'pinecone.query.filter',
    'db.filter',
    'db.where_document',
    'db.vector.query.filter',
  ].map((key): AttributeRow => ({ key, read: text('query_text') })),
  events: [
    {
      event: 'db.query.result',
      carries: 'own',
      attributes: [found('db.query.result.document'), found('db.query.result.metadata')],
    },
    { event: 'db.search.result', carries: 'own', attributes: [found('db.search.result.entity')] },
  ],
};
