/**
 * What all pages of the dashboard share: who looks, and what a refusal looks like to a person. The
 * rules are those of `/app/api`: no API credential, a session within its caps.
 */
import { ERRORS, type SluiceError } from '../../errors.ts';
import { errorPage, type Look, type Viewer } from '../../web/app/shell.ts';
import type { Html } from '../../web/html.ts';
import type { Answer, Exchange, HeaderList, StreamedAnswer } from '../transport/exchange.ts';
import { BadBody } from '../transport/json-body.ts';
import { pageAnswer, redirect } from '../transport/page.ts';
import { errorHeaders } from '../transport/problem.ts';
import { BadQuery } from '../transport/query.ts';
import type { Parameters, Route } from '../transport/router.ts';
import {
  ADMINS,
  type Needs,
  namedWorkspace,
  type RefusalForm,
  type Request,
  type SessionDependencies,
  signedIn,
} from './sign-in/signed-in.ts';

export interface DashboardDependencies extends SessionDependencies {
  readonly look: Look;
  /** milliseconds since 1970 */
  readonly nowMs: () => number;
}

/** A page being made: for whom, when, and asked how. */
export interface View {
  readonly exchange: Exchange;
  readonly request: Request;
  readonly viewer: Viewer;
  readonly parameters: Parameters;
  readonly nowMs: number;
}

export type PageHandler = (view: View) => Promise<Html | Answer | StreamedAnswer>;

/** Who looks at a page, as the page tells it. */
export function viewerOf({ session, workspace }: Request): Viewer {
  return {
    email: session.email,
    role: workspace.role,
    workspaceName: workspace.name,
    workspaceSlug: workspace.slug,
    plan: workspace.plan,
    isAdmin: ADMINS.includes(workspace.role),
  };
}

/** Whoever is not signed in is asked to, and comes back; anything else is told in words. */
function refusalPage(look: Look): RefusalForm {
  return (error: SluiceError, exchange: Exchange) => {
    if (error.code === 'not_signed_in') {
      const query = exchange.query === '' ? '' : `?${exchange.query}`;
      // A form that came too late cannot be sent again by a link.
      const asked = exchange.method === 'POST' ? '/app' : `${exchange.path}${query}`;
      return redirect(`/app/sign-in?next=${encodeURIComponent(asked)}`);
    }
    const { status, title } = ERRORS[error.code];
    const isFaulty = error instanceof BadQuery || error instanceof BadBody;
    const faults = isFaulty ? error.faults.map(({ path, message }) => `${path} ${message}`) : [];
    const turnTo = error.code === 'other_workspace' ? namedWorkspace(exchange) : null;
    const turn = turnTo === null ? {} : { turnTo };
    const page = errorPage(look, { title, detail: error.message, faults, ...turn });
    return pageAnswer(page.text, status, errorHeaders(error));
  };
}

/** A page at a path. */
export function pageRoute(
  path: string,
  needs: Needs,
  handler: PageHandler,
  deps: DashboardDependencies,
): Route {
  return {
    method: 'GET',
    path,
    handler: signedIn(
      needs,
      async (exchange, request, parameters) => {
        const nowMs = deps.nowMs();
        const viewer = viewerOf(request);
        const made = await handler({ exchange, request, viewer, parameters, nowMs });
        return 'text' in made ? pageAnswer(made.text) : made;
      },
      deps,
      refusalPage(deps.look),
    ),
  };
}

/** A form that was sent: by whom, and with which fields in the exchange's body. */
export type SentForm = Pick<View, 'exchange' | 'request' | 'parameters'>;

/** Where to go on, a path of this server; or a page of its own. */
export type FormResult =
  | string
  | { readonly location: string; readonly headers: HeaderList }
  | Answer;

/** A form at a path, sent by a browser as it is. */
export function formRoute(
  path: string,
  needs: Needs,
  handler: (form: SentForm) => Promise<FormResult>,
  deps: DashboardDependencies,
): Route {
  return {
    method: 'POST',
    path,
    handler: signedIn(
      needs,
      async (exchange, request, parameters) => {
        const result = await handler({ exchange, request, parameters });
        if (typeof result === 'string') return redirect(result);
        return 'location' in result ? redirect(result.location, result.headers) : result;
      },
      deps,
      refusalPage(deps.look),
    ),
  };
}
