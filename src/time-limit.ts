/** A time limit for work that has none of its own. Does not cancel the work. */

/**
 * The result of `work`, unless it takes too long; `work` then continues, and its result is ignored.
 *
 * @throws what `work` throws, or an error that names the limit
 */
export async function withinLimit<T>(work: Promise<T>, limitMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`not done after ${limitMs} ms`)), limitMs);
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}
