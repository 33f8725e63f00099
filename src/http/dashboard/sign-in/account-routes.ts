/** Signing in and out, and what people see and do about their own sessions. */

import { z } from 'zod';
import { SluiceError } from '../../../errors.ts';
import type { Session } from '../../../model.ts';
import type { Answer, HeaderList } from '../../transport/exchange.ts';
import { readJson } from '../../transport/json-body.ts';
import { json } from '../../transport/problem.ts';
import type { Route } from '../../transport/router.ts';
import {
  type AccountDependencies,
  beginSession,
  changePassword,
  checkSignIn,
  endOtherSessions,
  endSession,
  signOut,
} from './accounts.ts';
import { email, newPassword, password, slug } from './person-fields.ts';
import { type Visit, visited, withSession } from './signed-in.ts';

const signInBody = z.strictObject({ email, password, workspace: slug.optional() });
const turnBody = z.strictObject({ workspace: slug });
const passwordBody = z.strictObject({ current_password: password, new_password: newPassword });

async function sessionView(session: Session, { accounts }: AccountDependencies): Promise<object> {
  const { workspace } = session;
  return {
    user: { id: session.userId, email: session.email, display_name: session.displayName },
    role: workspace?.role ?? null,
    plan: workspace?.plan ?? null,
    workspace:
      workspace === null
        ? null
        : {
            slug: workspace.slug,
            name: workspace.name,
            plan: workspace.plan,
            redact_excerpts: workspace.redactExcerpts,
          },
    workspaces: await accounts.workspacesOf(session.userId),
    expires_at: session.expiresAt,
  };
}

/** The session a token has begun, as its owner sees it, with the cookie that carries it. */
export async function begun(
  visit: Visit,
  user: Parameters<typeof beginSession>[1],
  workspaceSlug: string | null,
  deps: AccountDependencies,
): Promise<Answer> {
  const opened = await beginSession(visit, user, workspaceSlug, deps);
  const session = opened === null ? null : await deps.findSession(opened.token);
  if (opened === null || session === null) {
    throw new SluiceError('role_required', 'This account does not belong to that workspace.');
  }
  return { ...json(await sessionView(session, deps)), headers: opened.headers };
}

function sessionRoutes(deps: AccountDependencies): Route[] {
  const { accounts, cookies } = deps;
  const show = withSession(
    async (_exchange, { session }) => json(await sessionView(session, deps)),
    deps,
  );
  const turn = withSession(async (exchange, { session }) => {
    const { workspace } = await readJson(exchange, turnBody);
    if (!(await accounts.turnSession(session.id, workspace))) {
      throw new SluiceError('not_found', 'This account belongs to no such workspace.');
    }
    const workspaces = await accounts.workspacesOf(session.userId);
    return json(workspaces.find((one) => one.slug === workspace));
  }, deps);
  const list = withSession(async (_exchange, { session }) => {
    const sessions = await accounts.sessionsOf(session.userId);
    return json({
      sessions: sessions.map((one) => ({
        id: one.id,
        current: one.id === session.id,
        created_at: one.createdAt,
        last_seen_at: one.lastSeenAt,
        expires_at: one.expiresAt,
        user_agent: one.userAgent,
        address: one.address,
      })),
    });
  }, deps);
  const endOthers = withSession(
    async (_exchange, { session, ...visit }) =>
      json({ revoked: await endOtherSessions(session, visit, deps) }),
    deps,
  );
  const endOne = withSession(async (_exchange, { session, ...visit }, { sessionId = '' }) => {
    await endSession(session, sessionId, visit, deps);
    const own = sessionId === session.id;
    const headers: HeaderList = own ? [['set-cookie', cookies.clearSession()]] : [];
    return { ...json({ id: sessionId, revoked: true }), headers };
  }, deps);
  return [
    { method: 'GET', path: '/app/api/session', handler: show },
    { method: 'PUT', path: '/app/api/session', handler: turn },
    { method: 'GET', path: '/app/api/sessions', handler: list },
    { method: 'DELETE', path: '/app/api/sessions', handler: endOthers },
    { method: 'DELETE', path: '/app/api/sessions/{sessionId}', handler: endOne },
  ];
}

/** Sign-in, sign-out, sessions and the password of whoever is signed in. */
export function accountRoutes(deps: AccountDependencies): Route[] {
  const { cookies } = deps;
  const signIn = visited(async (exchange, visit) => {
    const given = await readJson(exchange, signInBody);
    const user = await checkSignIn(visit, given, deps);
    return await begun(visit, user, given.workspace ?? null, deps);
  }, deps);
  const leave = visited(async (_exchange, visit) => {
    await signOut(visit, deps);
    return { ...json({}), headers: [['set-cookie', cookies.clearSession()]] };
  }, deps);
  const setPassword = withSession(async (exchange, { session, ...visit }) => {
    const body = await readJson(exchange, passwordBody);
    const given = { current: body.current_password, next: body.new_password };
    const user = await changePassword(visit, session, given, deps);
    return await begun(visit, user, session.workspace?.slug ?? null, deps);
  }, deps);
  return [
    { method: 'POST', path: '/app/api/sign-in', handler: signIn },
    { method: 'POST', path: '/app/api/sign-out', handler: leave },
    { method: 'PUT', path: '/app/api/password', handler: setPassword },
    ...sessionRoutes(deps),
  ];
}
