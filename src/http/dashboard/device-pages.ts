/**
 * The page on which a signed-in user confirms the login of a command line (`sluice login`), and its form.
 * The user types the code that the terminal shows, or follows the link printed beside it; nothing is
 * confirmed before the form was sent.
 */
import { z } from 'zod';

import type { Store } from '../../db/store.ts';
import { SluiceError } from '../../errors.ts';
import type { DeviceLogin } from '../../model/people.ts';
import { devicePage } from '../../web/app/device.ts';
import type { SignInLimiter } from '../limits/sign-in-limiter.ts';
import { readForm } from '../transport/json-body.ts';
import { pageAnswer } from '../transport/page.ts';
import { parsePageQuery } from '../transport/query.ts';
import type { Route } from '../transport/router.ts';
import { type DashboardDependencies, formRoutes, pageRoutes, viewerOf } from './dashboard.ts';
import type { SignedInRequest } from './sign-in/signed-in.ts';

export interface DevicePageDependencies extends DashboardDependencies {
  readonly cliLogins: Store['cliLogins'];
  readonly signInLimiter: SignInLimiter;
}

const PATH = '/app/device';
const CODE_CHARS_MAX = 40;

const userCode = z.string().max(CODE_CHARS_MAX);
const codeQuery = z.object({ user_code: userCode.optional() });
const decisionForm = z.object({ user_code: userCode, decision: z.enum(['approve', 'deny']) });

const unknownCode = () =>
  new SluiceError('not_found', 'This code is wrong, expired or already used.');

export function devicePages(deps: DevicePageDependencies): Route[] {
  const { cliLogins, signInLimiter, look, events } = deps;
  const page = pageRoutes(deps);
  const form = formRoutes(deps);

  /** Looks a typed code up, within the limits on attempts: those of a user from one network. */
  const find = async (
    typed: string,
    { session, address }: SignedInRequest,
  ): Promise<DeviceLogin & { readonly code: string }> => {
    await signInLimiter.admit(`device ${session.userId}`, address).catch((error: unknown) => {
      events.signInTried('device', 'limited', { user: session.userId, address });
      throw error;
    });
    const code = cliLogins.parseUserCode(typed);
    const login = code === null ? null : await cliLogins.find(code);
    if (code !== null && login !== null) return { ...login, code };
    events.signInTried('device', 'failed', { user: session.userId, address });
    throw unknownCode();
  };

  return [
    page(PATH, {}, async ({ exchange, request, viewer, nowMs }) => {
      const { user_code: typed } = parsePageQuery(codeQuery, exchange.query);
      if (typed === undefined) return devicePage(look, viewer, { state: 'typing', nowMs });
      const login = await find(typed, request);
      return devicePage(look, viewer, { state: 'deciding', login, nowMs });
    }),
    form(PATH, {}, async ({ exchange, request }) => {
      const sent = await readForm(exchange, decisionForm);
      const login = await find(sent.user_code, request);
      const approved = sent.decision === 'approve';
      const decision = { userCode: login.code, approved };
      const { workspace, actor } = request;
      if (!(await cliLogins.decide(workspace.id, decision, actor))) throw unknownCode();
      const state = approved ? 'approved' : 'denied';
      const shown = devicePage(look, viewerOf(request), { state, login, nowMs: deps.nowMs() });
      return pageAnswer(shown.text);
    }),
  ];
}
