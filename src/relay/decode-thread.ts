/** The entry point of the thread that decodes large bodies, one at a time; `thread-decoder.ts` starts it. */
import { parentPort } from 'node:worker_threads';

import { type ErrorCode, SluiceError } from '../errors.ts';
import { type BodyFacts, decodeBody, INFLATED_BYTES_MAX, tooLarge } from './decode-body.ts';

/** What the thread is sent. */
export interface ToBodyThread {
  readonly body: Uint8Array;
  readonly facts: BodyFacts;
}

/** Its reply. */
export type FromBodyThread =
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'sent'; readonly body: Uint8Array }
  | { readonly kind: 'refused'; readonly code: ErrorCode; readonly message: string };

async function decode({ body, facts }: ToBodyThread): Promise<FromBodyThread> {
  try {
    const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    const decoded = await decodeBody(bytes, facts, INFLATED_BYTES_MAX);
    if (decoded.kind === 'larger') throw tooLarge(INFLATED_BYTES_MAX);
    return decoded;
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error;
    return { kind: 'refused', code: error.code, message: error.message };
  }
}

const port = parentPort;
if (port === null) throw new Error('decode-thread.ts runs in a worker thread only');
port.on('message', async (message: ToBodyThread) => port.postMessage(await decode(message)));
