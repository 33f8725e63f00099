/** Checks of what a pattern matched: each returns how many characters count, 0 for none. */
import type { LibraryPattern } from '../../model/redaction/redaction.ts';

const IBAN_CHARS = [15, 34] as const;

function luhn(matched: string): number {
  const digits = [...matched.replace(/\D/g, '')].reverse().map(Number);
  const sum = digits.reduce((total, digit, index) => {
    const doubled = index % 2 === 1 ? digit * 2 : digit;
    return total + (doubled > 9 ? doubled - 9 : doubled);
  }, 0);
  return sum % 10 === 0 ? matched.length : 0;
}

/** Looks for the longest beginning that is an IBAN: words in capitals may follow it. */
function iban(matched: string): number {
  for (let end = matched.length; end >= IBAN_CHARS[0]; end -= 1) {
    const compact = matched.slice(0, end).replace(/ /g, '');
    const isNext = matched[end] === undefined || matched[end] === ' ';
    if (isNext && compact.length <= IBAN_CHARS[1] && isRight(compact)) return end;
  }
  return 0;
}

function isRight(compact: string): boolean {
  if (compact.length < IBAN_CHARS[0]) return false;
  const moved = compact.slice(4) + compact.slice(0, 4);
  let rest = 0;
  for (const character of moved) {
    const value = Number.parseInt(character, 36);
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97;
  }
  return rest === 1;
}

export const CHECKS: Readonly<
  Record<NonNullable<LibraryPattern['check']>, (matched: string) => number>
> = { luhn, iban };
