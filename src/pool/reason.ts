/**
 * Why a run was not evaluated, as text that may be stored and logged: never customers' text.
 */
import { errorFacts } from '../observe/error-facts.ts';

/** Enough for the messages of PostgreSQL, RE2 and Node. */
const REASON_LENGTH_MAX = 300;

/** An error's name, code and message, the last only where it cannot quote what was read. */
export function reasonOf(error: unknown): string {
  const { error: name, code, message } = errorFacts(error);
  // V8 quotes the text that it could not parse in the message of a SyntaxError.
  const words = name === 'SyntaxError' ? undefined : message;
  return shortReason([name, code, words].filter((part) => part !== undefined).join(' '));
}

/** @param reason a message of this program, RE2 or PostgreSQL */
export function shortReason(reason: string): string {
  return reason.slice(0, REASON_LENGTH_MAX);
}
