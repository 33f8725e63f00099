/**
 * Requests of signed-in people, per minute: those of one user, wherever they work, and those of all
 * users of one workspace together. Both ceilings are far above what a page asks for by itself; they
 * stop a script that borrowed a cookie, and a crowd that would slow down everybody else.
 */
import type { MinuteCounts } from './minute-counts.ts';

export interface SessionLimits {
  /** requests per minute */
  readonly user: number;
  /** requests per minute */
  readonly workspace: number;
}

/** A page of the dashboard takes about five requests; this is two pages a second, ten users' worth. */
export const SESSION_LIMITS: SessionLimits = { user: 600, workspace: 6000 };

/** The value of `X-RateLimit-Scope`: which ceiling was reached. */
export type SessionScope = 'user' | 'workspace';

export type SessionDecision =
  | { readonly admitted: true }
  | {
      readonly admitted: false;
      readonly scope: SessionScope;
      /** whole seconds, rounded up, 1 at least */
      readonly retryAfterSeconds: number;
    };

export interface SessionLimiter {
  /** Counts one request of a session; never rejects, never hangs (`MinuteCounts`). */
  readonly consume: (session: {
    readonly userId: number;
    readonly workspaceId: number;
  }) => Promise<SessionDecision>;
}

const ADMITTED: SessionDecision = { admitted: true };

/** @param counts where requests are counted; whoever made them closes them */
export function createSessionLimiter(
  counts: Pick<MinuteCounts, 'consume'>,
  limits: SessionLimits = SESSION_LIMITS,
): SessionLimiter {
  return {
    consume: async ({ userId, workspaceId }) => {
      // The user first: what is refused to one must not use up what the others share.
      const user = await counts.consume(`user:${userId}`, limits.user);
      if (!user.admitted) return { ...user, scope: 'user' };
      const workspace = await counts.consume(`workspace:${workspaceId}`, limits.workspace);
      if (!workspace.admitted) return { ...workspace, scope: 'workspace' };
      return ADMITTED;
    },
  };
}
