/**
 * A handler behind a key: the key is checked before it runs, and every exception becomes an answer.
 * Knows no path.
 */
import type { Credential, KeyKind } from '../../model/people.ts';
import type { Events } from '../../observe/events.ts';
import { type AdmissionDependencies, admit } from '../limits/authentication.ts';
import type { Answer, Exchange, StreamedAnswer } from '../transport/exchange.ts';
import { answeredError, problem } from '../transport/problem.ts';
import { checkControls } from '../transport/query.ts';
import { revocable } from '../transport/revocable-stream.ts';
import type { Handler, Parameters } from '../transport/router.ts';

/** Reads nothing of a request but its head, so that commands can call it too. */
export type AuthorizedHandler<Given extends Answer | StreamedAnswer = Answer> = (
  exchange: Pick<Exchange, 'query'> &
    Partial<Pick<Exchange, 'method' | 'signal' | 'clientAddress'>>,
  credential: Pick<Credential, 'workspaceId'> & {
    /** of a signed-in user; a key has none */
    readonly email?: string;
    readonly keyId?: number;
  },
  parameters: Parameters,
) => Given | Promise<Given>;

export interface AuthorizedDependencies extends AdmissionDependencies {
  readonly events: Pick<Events, 'requestFailed' | 'requestUnavailable'>;
}

/** A bad query is answered with all its faults. A stream is cut off when the key is revoked. */
export function authorized(
  kind: KeyKind | 'any',
  handler: AuthorizedHandler<Answer | StreamedAnswer>,
  deps: AuthorizedDependencies,
): Handler {
  return async (exchange, parameters) => {
    try {
      const credential = await admit(exchange, kind, deps);
      checkControls(exchange.query, parameters);
      const answer = await handler(exchange, credential, parameters);
      if ('chunks' in answer) {
        const check = () => deps.authenticator.authenticate(exchange, kind);
        await exchange.stream(revocable(answer, check));
      } else exchange.answer(answer);
    } catch (thrown) {
      const error = answeredError(thrown, 'read', exchange, deps.events);
      exchange.answer(problem(error));
    }
  };
}
