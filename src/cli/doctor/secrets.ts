/**
 * Removes secrets of the settings from texts that are printed: messages of PostgreSQL, Redis or
 * Node.js may repeat a part of what they were given.
 */
const URL_SETTING = /_URL$/;
const SECRET_SETTING = /(SECRET|PASSWORD|API_KEY|TOKEN)$/;
const PASSWORD_OF_URL = /^[a-z+]+:\/\/[^:@/]*:([^@/]+)@/i;
const HIDDEN = '[hidden]';

/** A text and its percent-decoded form. */
function formsOf(text: string): string[] {
  try {
    return [text, decodeURIComponent(text)];
  } catch {
    return [text];
  }
}

/** The secrets of an environment, longest first. */
export function secretsOf(env: Readonly<Record<string, string | undefined>>): string[] {
  const secrets = Object.entries(env).flatMap(([name, value = '']) => {
    if (SECRET_SETTING.test(name)) return [value.trim()];
    if (!URL_SETTING.test(name)) return [];
    const [, ofUrl] = PASSWORD_OF_URL.exec(value.trim()) ?? [];
    const ofQuery = new URLSearchParams(/\?([^#]*)/.exec(value)?.[1] ?? '').get('password');
    return [ofUrl, ofQuery].flatMap((one) => (one == null ? [] : formsOf(one)));
  });
  return [...new Set(secrets)]
    .filter((secret) => secret !== '')
    .sort((one, other) => other.length - one.length);
}

export function createHiding(secrets: readonly string[]): (text: string) => string {
  return (text) => secrets.reduce((rest, secret) => rest.replaceAll(secret, HIDDEN), text);
}
