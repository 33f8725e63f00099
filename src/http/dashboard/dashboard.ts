/**
 * The common part of all pages and forms of the dashboard: they need a session within its caps, take no API
 * credential, and answer an error with a page.
 */
import type { AlertSender } from '../../alerts/sender.ts';
import { ERRORS, type SluiceError } from '../../errors.ts';
import type { ReplicaState, WorkspaceOverview } from '../../model/overview.ts';
import type { Session } from '../../model/people.ts';
import type { RedactionSettings } from '../../model/redaction/redaction.ts';
import type { SendGuide } from '../../web/app/keys/connect.ts';
import { errorPage, type Look, type Viewer } from '../../web/app/shell.ts';
import type { Html } from '../../web/html.ts';
import type { ApiContext } from '../api/authorized.ts';
import type { ExportSlots } from '../api/findings/finding-export.ts';
import type { OcsfSource } from '../api/findings/ocsf.ts';
import { errorHeaders, pageAnswer, redirect } from '../transport/answers.ts';
import type { Answer, Exchange, HeaderList, StreamedAnswer } from '../transport/exchange.ts';
import { InvalidInput, requireNoPageQuery } from '../transport/input.ts';
import type { Parameters, Route } from '../transport/router.ts';
import type { IdentityProvider } from './sign-in/identity-providers.ts';
import {
  ADMINS,
  type BrowserRequest,
  type Needs,
  namedWorkspace,
  type RefusalForm,
  type SessionDependencies,
  type SignedInRequest,
  signedIn,
  withSession,
} from './sign-in/signed-in.ts';

export interface AppDependencies extends ApiContext, SessionDependencies {
  readonly look: Look;
  readonly observeUrl: string;
  readonly providers: readonly IdentityProvider[];
  readonly overview: (workspaceId: number) => Promise<WorkspaceOverview>;
  /** null: there is none */
  readonly replicaState: () => ReplicaState | null;
  readonly ocsf: OcsfSource;
  readonly exportSlots: ExportSlots;
  readonly alertSender: Pick<AlertSender, 'canEmail' | 'faultOfUrl' | 'sendTest'>;
  /** the faults of settings, one sentence each */
  readonly redactionFaults: (settings: RedactionSettings) => readonly string[];
  /** Returns the pages of `docs/send/`. */
  readonly sendGuides: () => readonly SendGuide[];
}

export interface View {
  readonly exchange: Exchange;
  readonly request: SignedInRequest;
  readonly viewer: Viewer;
  readonly parameters: Parameters;
  readonly nowMs: number;
}

type PageHandler = (view: View) => Promise<Html | Answer | StreamedAnswer>;

export function viewerOf({
  session,
  workspace,
}: Pick<SignedInRequest, 'session' | 'workspace'>): Viewer {
  return {
    email: session.email,
    role: workspace.role,
    workspaceName: workspace.name,
    workspaceSlug: workspace.slug,
    plan: workspace.plan,
    isAdmin: ADMINS.includes(workspace.role),
  };
}

/**
 * Without a session the browser goes to the sign-in and comes back.
 *
 * @param filters the form of a page's filter, shown again when the query is not valid
 */
export function refusalPage(look: Look, filters?: (query: string) => Html): RefusalForm {
  return (error, exchange, session) => {
    if (error.code === 'not_signed_in') {
      const query = exchange.query === '' ? '' : `?${exchange.query}`;
      // A form that came too late cannot be sent again by a link.
      const next = exchange.method === 'POST' ? '/app' : `${exchange.path}${query}`;
      return redirect(`/app/sign-in?next=${encodeURIComponent(next)}`);
    }
    const { status, title } = ERRORS[error.code];
    const faults =
      error instanceof InvalidInput
        ? error.faults.map(({ path, message }) => `${path}${path === '' ? '' : ': '}${message}`)
        : [];
    const switchTo = error.code === 'other_workspace' ? namedWorkspace(exchange) : null;
    const viewer =
      session === null || session.workspace === null
        ? null
        : viewerOf({ session, workspace: session.workspace });
    const page = errorPage(look, viewer, {
      title,
      detail: error.message,
      faults,
      current: exchange.path,
      ...(switchTo === null ? {} : { switchTo }),
      ...(error.code === 'bad_query' && filters ? { form: filters(exchange.query) } : {}),
    });
    return pageAnswer(page.text, status, errorHeaders(error));
  };
}

interface PageNeeds extends Needs {
  /** the page reads its query; on any other page a parameter is an error */
  readonly hasQuery?: true;
}

export const WITH_QUERY = { hasQuery: true } as const;

export function pageRoutes(deps: AppDependencies) {
  return (
    path: string,
    needs: PageNeeds,
    handler: PageHandler,
    filters?: (query: string) => Html,
  ): Route => ({
    method: 'GET',
    path,
    handler: signedIn(
      needs,
      async (exchange, request, parameters) => {
        if (needs.hasQuery !== true) requireNoPageQuery(exchange.query);
        const nowMs = deps.nowMs();
        const viewer = viewerOf(request);
        const made = await handler({ exchange, request, viewer, parameters, nowMs });
        return 'text' in made ? pageAnswer(made.text) : made;
      },
      deps,
      refusalPage(deps.look, filters),
    ),
  });
}

interface SentForm<Request extends BrowserRequest> {
  readonly exchange: Exchange;
  readonly request: Request;
  readonly parameters: Parameters;
}

/** The path to redirect to, or a page. */
type FormResult = string | { readonly location: string; readonly headers: HeaderList } | Answer;

type FormHandler<Request extends BrowserRequest> = (form: SentForm<Request>) => Promise<FormResult>;

function formAnswer(result: FormResult): Answer {
  if (typeof result === 'string') return redirect(result);
  return 'location' in result ? redirect(result.location, result.headers) : result;
}

export function formRoutes(deps: AppDependencies) {
  return (path: string, needs: Needs, handler: FormHandler<SignedInRequest>): Route => ({
    method: 'POST',
    path,
    handler: signedIn(
      needs,
      async (exchange, request, parameters) =>
        formAnswer(await handler({ exchange, request, parameters })),
      deps,
      refusalPage(deps.look),
    ),
  });
}

/** Makes the routes of forms about the signed-in user, who need not belong to a workspace. */
export function accountFormRoutes(deps: AppDependencies) {
  return (
    path: string,
    handler: FormHandler<BrowserRequest & { readonly session: Session }>,
  ): Route => ({
    method: 'POST',
    path,
    handler: withSession(
      async (exchange, request, parameters) =>
        formAnswer(await handler({ exchange, request, parameters })),
      deps,
      refusalPage(deps.look),
    ),
  });
}

const HTML = /\btext\/html\b/i;

function isBrowser({ method, accept }: Exchange): boolean {
  return (method === 'GET' || method === 'HEAD') && HTML.test(accept);
}

/**
 * Pages for browsers at addresses that no route serves: under `/app` with the navigation of the signed-in
 * user, or the sign-in.
 *
 * @returns a function that answers a browser; false when the request is a program's
 */
export function unknownPages(deps: AppDependencies) {
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
