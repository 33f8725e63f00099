/**
 * Redaction before storage: the settings of a workspace, and the library of patterns that it can choose
 * from. A pattern is an RE2 pattern over the text of one JSON string, with escapes resolved.
 */

/** Most patterns that a workspace writes itself. */
export const OWN_PATTERNS_MAX = 16;
/** Most characters of such a pattern, and of its name. */
export const PATTERN_CHARS_MAX = 400;
export const PATTERN_NAME_CHARS_MAX = 40;

export interface NamedPattern {
  readonly name: string;
  readonly pattern: string;
}

export interface RedactionSettings {
  /** names of the library's patterns */
  readonly library: readonly string[];
  readonly patterns: readonly NamedPattern[];
}

/** The settings of a workspace as its keys' look-up finds them. */
export interface StoredRedaction {
  /** JSON of `RedactionSettings` */
  readonly settings: string;
  /** of the digests in marks; never shown */
  readonly key: Buffer;
}

export interface LibraryPattern extends NamedPattern {
  readonly title: string;
  /** a check of what matched, beside the pattern */
  readonly check?: 'luhn' | 'iban';
}

const WORDS = '[A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----';
/** Line ends of a key, also as JSON in JSON writes them. */
const ENDS = '(?:\\s|\\\\[nr])*';

export const LIBRARY: readonly LibraryPattern[] = [
  { name: 'aws-access-key', title: 'AWS access key ids', pattern: 'A(?:KIA|SIA)[0-9A-Z]{16}' },
  {
    name: 'github-token',
    title: 'GitHub tokens',
    pattern: 'gh[pousr]_[A-Za-z0-9]{36,}|github_pat_\\w{22,}',
  },
  { name: 'gitlab-token', title: 'GitLab tokens', pattern: 'glpat-[\\w-]{20,}' },
  {
    name: 'slack-token',
    title: 'Slack tokens and webhooks',
    pattern:
      'xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-\\d-[A-Za-z0-9-]{10,}|hooks\\.slack\\.com/services/[A-Za-z0-9/]{20,}',
  },
  {
    name: 'model-api-key',
    title: 'API keys of OpenAI and Anthropic',
    pattern: '\\bsk-(?:(?:proj|svcacct|admin|ant-[a-z0-9]+)-[\\w-]{20,}|[A-Za-z0-9]{32,})',
  },
  { name: 'google-api-key', title: 'Google API keys', pattern: 'AIza[\\w-]{35}' },
  { name: 'stripe-key', title: 'Stripe keys', pattern: '\\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}' },
  { name: 'npm-token', title: 'npm tokens', pattern: 'npm_[A-Za-z0-9]{36}' },
  {
    name: 'private-key',
    title: 'private keys in PEM and OpenPGP form',
    pattern: `-----BEGIN ${WORDS}(?:${ENDS}(?:[A-Za-z0-9+/=]{20,}|(?:Proc-Type|DEK-Info|Version|Comment):[^\\n\\\\]{0,80}))+(?:${ENDS}[A-Za-z0-9+/=]{1,19})?(?:${ENDS}-----END ${WORDS})?`,
  },
  {
    name: 'jwt',
    title: 'JSON Web Tokens',
    pattern: 'eyJ[\\w-]{8,}\\.eyJ[\\w-]{8,}\\.[\\w-]*',
  },
  {
    name: 'url-password',
    title: 'user and password in a URL',
    pattern: '://[^\\s/:@"\'<>]{1,60}:[^\\s/@"\'<>]{1,100}@',
  },
  {
    name: 'email',
    title: 'e-mail addresses',
    pattern: "[\\w.%+'-]+@[A-Za-z0-9][A-Za-z0-9-]*(?:\\.[A-Za-z0-9-]+)*\\.[A-Za-z]{2,}",
  },
  {
    name: 'iban',
    title: 'IBANs with correct check digits',
    pattern: '\\b[A-Z]{2}\\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?\\b',
    check: 'iban',
  },
  {
    name: 'credit-card',
    title: 'numbers of payment cards with a correct check digit',
    pattern:
      '\\b(?:4\\d{3}|5[1-5]\\d{2}|2[2-7]\\d{2}|6(?:011|5\\d{2}|4[4-9]\\d))(?:[ -]?\\d{4}){3}\\b|\\b3[47]\\d{2}[ -]?\\d{6}[ -]?\\d{5}\\b',
    check: 'luhn',
  },
  {
    name: 'phone',
    title: 'phone numbers, international or of North America',
    pattern:
      '\\+[1-9]\\d{0,2}[ .()/-]{0,3}(?:\\d[ .()-]{0,2}){6,12}\\d|\\(\\d{3}\\) ?\\d{3}-\\d{4}\\b|\\b\\d{3}[.-]\\d{3}[.-]\\d{4}\\b',
  },
  { name: 'us-ssn', title: 'US social security numbers', pattern: '\\b\\d{3}-\\d{2}-\\d{4}\\b' },
];

/** The settings that are stored as JSON. @throws {SyntaxError} */
export function redactionOf(settings: string): RedactionSettings {
  return JSON.parse(settings) as RedactionSettings;
}
