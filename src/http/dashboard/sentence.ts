/** Text that a person writes into a form: a note, a reason. */
import { z } from 'zod';

/** Controls but for line breaks and tabs, lone surrogates, and characters that change the direction. */
const UNFIT = /[^\P{Cc}\n\t]|[\p{Cs}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;
/** At least one visible character. */
const VISIBLE = /[\p{L}\p{N}\p{P}\p{S}]/u;

/** A text of one or more lines; line breaks are `\n`, as browsers do not send them. */
export function sentence(charsMax: number) {
  return z
    .string()
    .transform((text) => text.replaceAll(/\r\n?/g, '\n').trim())
    .pipe(
      z
        .string()
        .max(charsMax)
        .refine((text) => !UNFIT.test(text), 'must not contain control characters')
        .refine((text) => VISIBLE.test(text), 'must have a visible character'),
    );
}
