/**
 * A streamed answer that ends when its reader loses the right to it: a revoked key, an ended session,
 * a lost membership. Asked before every chunk, so at the latest one page later. The transfer breaks,
 * it never ends as if it were whole.
 */
import type { StreamedAnswer } from './exchange.ts';

/**
 * @param check throws when the reader may read no further
 * @returns the same answer, whose chunks throw what `check` throws
 */
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
