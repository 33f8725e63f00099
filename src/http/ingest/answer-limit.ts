/**
 * Answers every ingest request in time, even while it waits for the look-up of its key, its turn, its
 * body or the database.
 *
 *   head ──► body ──3/4 of the time──► 503
 *        ──► anything else ──7/8 of the time──► 503; work in progress continues (*)
 *
 * In the last eighth, the rest of a refused body is read and dropped, so that the client sees the
 * answer. The next attempt gets the result of the work that continued, because equal requests are
 * stored once.
 *
 * (*) except a large body that waits, or has the process that another workspace needs
 * (`large-bodies.ts`)
 */
import { SluiceError } from '../../errors.ts';
import type { Events } from '../../observe/events.ts';
import { withinLimit } from '../../time-limit.ts';

const BODY_PART = 0.75;
const REFUSED_PART = 0.875;

/** The time in which a body has to arrive, from the head of its request. */
export function bodyLimitMs(answerMs: number): number {
  return answerMs * BODY_PART;
}

export interface AnswerLimitSettings {
  /** a request is answered within this time of its head; OTLP exporters give up after 10 s */
  readonly answerMs: number;
  readonly events: Pick<Events, 'requestFailed'>;
}

/**
 * The result of a request, unless it takes too long; the request then continues, and its result is
 * ignored.
 *
 * @throws what the request throws, or {SluiceError} `answer_timeout`
 */
export async function answerInTime<T>(
  request: Promise<T>,
  { answerMs, events }: AnswerLimitSettings,
): Promise<T> {
  let isLate = false;
  request.catch((error: unknown) => {
    if (isLate && !(error instanceof SluiceError)) events.requestFailed('ingest', error);
  });
  return await withinLimit(request, answerMs * REFUSED_PART, () => {
    isLate = true;
    const message = 'The request was not stored in time (INGEST_ANSWER_MS). Send it again.';
    return new SluiceError('answer_timeout', message);
  });
}
