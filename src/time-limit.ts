/** A time limit for work without one. Does not cancel the work. */

/**
 * The result of `work`, unless it takes too long; `work` then continues, and its result is ignored.
 *
 * @param lateError makes the error of work that takes too long; by default it names the limit
 * @throws what `work` throws, or that error
 */
export async function withinLimit<T>(
  work: Promise<T>,
  limitMs: number,
  lateError: () => Error = () => new Error(`not done after ${limitMs} ms`),
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(lateError()), limitMs);
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}
