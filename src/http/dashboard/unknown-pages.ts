/**
 * Pages for browsers at addresses that no route serves; programs get problem details as before.
 *
 *   under /app ─► the error, with the navigation of the signed-in user, or the sign-in
 *   elsewhere ─► the error
 */
import { ERRORS, type SluiceError } from '../../errors.ts';
import { errorPage } from '../../web/app/shell.ts';
import type { Exchange, HeaderList } from '../transport/exchange.ts';
import { pageAnswer } from '../transport/page.ts';
import { type DashboardDependencies, refusalPage } from './dashboard.ts';
import { signedIn } from './sign-in/signed-in.ts';

const HTML = /\btext\/html\b/i;

function isBrowser({ method, accept }: Exchange): boolean {
  return (method === 'GET' || method === 'HEAD') && HTML.test(accept);
}

/** @returns a function that answers a browser; false when the request is a program's */
export function unknownPages(deps: DashboardDependencies) {
  const { look } = deps;
  return (exchange: Exchange, error: SluiceError, headers: HeaderList = []): boolean => {
    if (!isBrowser(exchange)) return false;
    if (exchange.browser !== null) {
      const refuse = signedIn({}, () => Promise.reject(error), deps, refusalPage(look));
      void refuse(exchange, {});
    } else {
      const { status, title } = ERRORS[error.code];
      const page = errorPage(look, null, { title, detail: error.message, faults: [] });
      exchange.answer(pageAnswer(page.text, status, headers));
    }
    return true;
  };
}
