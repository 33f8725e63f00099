/** The entry point of the process that decodes large bodies, one at a time; `request-body.ts` starts it. */
import '../stack-traces.ts';

import { type ErrorCode, SluiceError } from '../errors.ts';
import { serveParent } from '../limited-process/serve-parent.ts';
import { type BodyFacts, decodeBody, INFLATED_BYTES_MAX, tooLarge } from './decode-body.ts';

export interface ToBodyProcess {
  readonly facts: BodyFacts;
}

/** Its reply; with `sent`, the bytes are what is sent. */
export type FromBodyProcess =
  | { readonly kind: 'unchanged' | 'sent' }
  | { readonly kind: 'refused'; readonly code: ErrorCode; readonly message: string };

async function decode(body: Buffer, facts: BodyFacts): Promise<[FromBodyProcess, Buffer?]> {
  try {
    const decoded = await decodeBody(body, facts, INFLATED_BYTES_MAX);
    if (decoded.kind === 'larger') throw tooLarge(INFLATED_BYTES_MAX);
    return decoded.kind === 'sent' ? [{ kind: 'sent' }, decoded.body] : [decoded];
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error;
    return [{ kind: 'refused', code: error.code, message: error.message }];
  }
}

serveParent<ToBodyProcess, FromBodyProcess>(async ({ message, bytes }, answer) =>
  answer(...(await decode(bytes, message.facts))),
);
