/** Redacts bodies in tests. */
import { createRedactor, type Redacted } from '../../../src/engine/redaction/redactor.ts';
import type { RedactionSettings } from '../../../src/model/redaction/redaction.ts';

export const KEY = Buffer.alloc(32, 7);

export function redactorOf(
  settings: Partial<RedactionSettings>,
): (body: Buffer | string) => Redacted {
  const redactor = createRedactor({ library: [], patterns: [], ...settings }, KEY);
  return (body) => {
    const pieces = redactor(Buffer.from(body));
    for (;;) {
      const piece = pieces.next();
      if (piece.done) return piece.value;
    }
  };
}

/** Redacts one text in an attribute. */
export function redactText(settings: Partial<RedactionSettings>): (text: string) => string {
  const redact = redactorOf(settings);
  return (text) => {
    const { body } = redact(JSON.stringify([{ key: 'text', value: { stringValue: text } }]));
    return JSON.parse(body.toString())[0].value.stringValue;
  };
}
