/** The fields of forms about people, keys and workspaces, as zod schemas. */
import { z } from 'zod';
import { SluiceError } from '../../../errors.ts';
import { ROLES } from '../../../model/people.ts';

export const PASSWORD_CHARS_MIN = 12;
const PASSWORD_CHARS_MAX = 200;
const EMAIL_CHARS_MAX = 254;
const NAME_CHARS_MAX = 100;
const INTEGER_MAX = 2_147_483_647;
/** Control characters, lone surrogates, line separators, and characters that change the direction. */
const UNFIT = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;
const VISIBLE = /[\p{L}\p{N}\p{P}\p{S}]/u;

/**
 * Printable ASCII with one `@`, so that no two addresses look alike, and lower case makes no two the
 * same. The address is checked when a link is used. The ASCII form of an internationalised domain
 * starts with `xn--`.
 */
export const email = z
  .string()
  .trim()
  .max(EMAIL_CHARS_MAX)
  .regex(/^[!-?A-~]+@[!-?A-~]+$/, 'must be an e-mail address');

export const name = z
  .string()
  .trim()
  .min(1)
  .max(NAME_CHARS_MAX)
  .refine((text) => !UNFIT.test(text), 'must not contain control characters')
  .refine((text) => VISIBLE.test(text), 'must have a visible character');

export const password = z.string().min(1).max(PASSWORD_CHARS_MAX);

/** A new password: long, without rules about kinds of characters (NIST SP 800-63B). */
export const newPassword = z.string().min(PASSWORD_CHARS_MIN).max(PASSWORD_CHARS_MAX);

export const token = z.string().regex(/^[\w-]{43}$/, 'must be the token of an invitation link');

export const role = z.enum(ROLES);

export const slug = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'must be the slug of a workspace');

/** @throws {SluiceError} `not_found` unless it is a positive number that fits PostgreSQL's integer */
export function requireId(text = ''): number {
  const id = Number(text);
  if (!/^[1-9]\d{0,9}$/.test(text) || id > INTEGER_MAX) {
    throw new SluiceError('not_found', 'This workspace has nothing with that id.');
  }
  return id;
}

/** Controls but for line breaks and tabs, lone surrogates, and characters that change the direction. */
const UNFIT_IN_LINES = /[^\P{Cc}\n\t]|[\p{Cs}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;
/** A note or a reason, of one or more lines; line breaks are `\n`, as browsers do not send them. */
export function sentence(charsMax: number) {
  return z
    .string()
    .transform((text) => text.replaceAll(/\r\n?/g, '\n').trim())
    .pipe(
      z
        .string()
        .max(charsMax)
        .refine((text) => !UNFIT_IN_LINES.test(text), 'must not contain control characters')
        .refine((text) => VISIBLE.test(text), 'must have a visible character'),
    );
}
