/**
 * Limits the requests of signed-in people per minute: those of one user in all workspaces, and those of
 * all users of one workspace. Both limits are far above what the pages need; they stop a script that
 * uses a stolen cookie, and one workspace from slowing down the others.
 */
import type { MinuteCounts } from './minute-counts.ts';

interface SessionLimits {
  /** requests per minute */
  readonly user: number;
  /** requests per minute */
  readonly workspace: number;
}

/** A page takes about five requests: two pages a second for a user, ten times that for a workspace. */
export const SESSION_LIMITS: SessionLimits = { user: 600, workspace: 6000 };

/** The value of `X-RateLimit-Scope`: which limit was reached. */
type SessionScope = 'user' | 'workspace';

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

/** @param counts stays open; its creator closes it */
export function createSessionLimiter(
  counts: Pick<MinuteCounts, 'consume'>,
  limits: SessionLimits = SESSION_LIMITS,
): SessionLimiter {
  return {
    consume: async ({ userId, workspaceId }) => {
      // The user first: a refused request of one user must not use up the workspace's limit.
      const user = await counts.consume(`user:${userId}`, limits.user);
      if (!user.admitted) return { ...user, scope: 'user' };
      const workspace = await counts.consume(`workspace:${workspaceId}`, limits.workspace);
      if (!workspace.admitted) return { ...workspace, scope: 'workspace' };
      return ADMITTED;
    },
  };
}
