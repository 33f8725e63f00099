/** What people type about themselves and their things, as zod takes it. */
import { z } from 'zod';

import { SluiceError } from '../../../errors.ts';
import { ROLES } from '../../../model.ts';

export const PASSWORD_CHARS_MIN = 12;
const PASSWORD_CHARS_MAX = 200;
const EMAIL_CHARS_MAX = 254;
const NAME_CHARS_MAX = 100;
/** Controls, halves of characters, and what breaks lines or turns the direction of the text around. */
const UNFIT = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;
/** Something that people see: not white space and joiners alone. */
const VISIBLE = /[\p{L}\p{N}\p{P}\p{S}]/u;

/**
 * Printable ASCII, with one `@`: no two addresses look alike, and none becomes another by being
 * written in small letters. Whether it exists shows when a link is used. The ASCII form of an
 * internationalised domain begins with `xn--`.
 */
export const email = z
  .string()
  .trim()
  .max(EMAIL_CHARS_MAX)
  .regex(/^[!-?A-~]+@[!-?A-~]+$/, 'must be an e-mail address');

/** A name of a person or a thing. */
export const name = z
  .string()
  .trim()
  .min(1)
  .max(NAME_CHARS_MAX)
  .refine((text) => !UNFIT.test(text), 'must not hold control characters')
  .refine((text) => VISIBLE.test(text), 'must hold something that can be seen');

/** A password as it is tried: anything. */
export const password = z.string().min(1).max(PASSWORD_CHARS_MAX);

/** A password as it is chosen: long; no rules about kinds of characters (NIST SP 800-63B). */
export const newPassword = z.string().min(PASSWORD_CHARS_MIN).max(PASSWORD_CHARS_MAX);

/** A token out of a link. */
export const token = z.string().regex(/^[\w-]{43}$/, 'must be the token of a link');

export const role = z.enum(ROLES);

/** A workspace's, as `createWorkspace` takes it. */
export const slug = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'must be the slug of a workspace');

/** An id in a path: a positive number that PostgreSQL's integer holds; null when it is none. */
export function toId(text: string | undefined): number | null {
  if (text === undefined || !/^[1-9]\d{0,9}$/.test(text)) return null;
  const id = Number(text);
  return id <= 2_147_483_647 ? id : null;
}

/**
 * An id in a path of something of the workspace.
 *
 * @throws {SluiceError} `not_found` when it is none
 */
export function requireId(text: string | undefined): number {
  const id = toId(text);
  if (id === null) throw new SluiceError('not_found', 'The workspace has nothing of that id.');
  return id;
}
