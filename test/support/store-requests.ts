/** Stores decoded requests as the writer does: joined to blocks, in one transaction. */
import type { Connection } from '../../src/db/database.ts';
import { BlockCompressor } from '../../src/db/telemetry/block-codec.ts';
import { packBlocks } from '../../src/db/telemetry/blocks.ts';
import { storeBatch } from '../../src/db/telemetry/copy-transaction.ts';
import type { EncodedRequest } from '../../src/db/telemetry/encoded-request.ts';
import { encodeRequest } from './decoding.ts';
import type { RowsRequest } from './rows.ts';

const compressor = new BlockCompressor();

/** Stores a batch with its blocks. */
export async function storeRequests(
  connection: Connection,
  requests: readonly EncodedRequest[],
  settings: Omit<Parameters<typeof storeBatch>[2], 'blocks'> = {},
): Promise<void> {
  const blocks = await packBlocks(requests, compressor);
  await storeBatch(connection, requests, { ...settings, blocks });
}

/** Encodes spans and log records, which are sent in different requests. */
export function encodeRequests(
  request: RowsRequest,
  workspaceId: number,
  arrivedAtMs: number,
  logRuns?: Parameters<typeof encodeRequest>[3],
): EncodedRequest[] {
  const { spans, logs } = request;
  const requests: RowsRequest[] =
    spans.length > 0 && logs.length > 0
      ? [
          { ...request, signal: 'traces', logs: [] },
          { ...request, signal: 'logs', spans: [] },
        ]
      : [request];
  return requests.map((one) => encodeRequest(one, workspaceId, arrivedAtMs, logRuns));
}
