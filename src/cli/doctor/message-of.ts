/** The message of an error of a connection, for people. */
export function messageOf(error: unknown): string {
  const { message, errors } = error as { message?: string; errors?: readonly Error[] };
  // Node.js tries all addresses of a name; the message of all attempts together is empty.
  return message || errors?.map((one) => one.message).join(', ') || String(error);
}
