/** Parses JSON with every number as its text, so that `1`, `1.0` and `1e0` differ. */

/** A string, or a number or word outside of strings. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/gs;

/** The value; a number is an object with its text. @throws SyntaxError */
export function parseExactly(text: string): unknown {
  return JSON.parse(
    text.replace(TOKEN, (token) => (token.startsWith('"') ? token : `{"number":"${token}"}`)),
  );
}
