/** Waiting with an end: for work that has no time limit of its own. Stops nothing by itself. */

/**
 * What `work` comes to, unless that takes too long; `work` then goes on, and nobody hears of it.
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
