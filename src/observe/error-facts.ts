/**
 * What of an error may stand in a log: never customers' text.
 *
 * PostgreSQL puts values into messages of data errors (SQLSTATE classes 22 and 23) and into
 * `detail`, so those messages are left out and the code speaks alone.
 */

export interface ErrorFacts {
  readonly error: string;
  readonly code?: string;
  readonly message?: string;
  readonly at?: string;
}

const DATA_ERROR_CLASSES = new Set(['22', '23']);

function textProperty(value: object, key: string): string | undefined {
  const found: unknown = Reflect.get(value, key);
  return typeof found === 'string' ? found : undefined;
}

/** Names an error by kind, code and (where it cannot hold customers' text) message. */
export function errorFacts(error: unknown): ErrorFacts {
  if (!(error instanceof Error)) return { error: typeof error };
  const code = textProperty(error, 'code');
  const isDataError = code !== undefined && DATA_ERROR_CLASSES.has(code.slice(0, 2));
  const table = textProperty(error, 'table');
  return {
    error: error.name,
    ...(code === undefined ? {} : { code }),
    ...(isDataError && code.length === 5 ? {} : { message: error.message }),
    ...(table === undefined ? {} : { at: table }),
  };
}
