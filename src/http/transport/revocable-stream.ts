/**
 * A streamed answer that is cut off when its reader loses access: a revoked key, an ended session,
 * a lost membership. Access is checked before every chunk. The transfer is aborted, so the client
 * cannot mistake it for complete.
 */
import type { StreamedAnswer } from './exchange.ts';

/** @param check throws when the reader has lost access */
export function revocable(
  answer: StreamedAnswer,
  check: () => Promise<unknown> | unknown,
): StreamedAnswer {
  async function* chunks(): AsyncGenerator<Buffer> {
    for await (const chunk of answer.chunks) {
      await check();
      yield chunk;
    }
  }
  return { ...answer, chunks: chunks() };
}
