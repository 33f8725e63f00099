-- Signing in a command line elsewhere: device authorization in the style of RFC 8628.
--
-- A command line's login is a session of another kind: it is listed, revoked and ended like a
-- browser's, and no browser can use it. A version that does not know the kind looks sessions up by the
-- cookie's token, whose form no token of a command line has.

ALTER TABLE sessions
  ADD COLUMN kind text NOT NULL DEFAULT 'browser' CHECK (kind IN ('browser', 'cli'));

-- Requests to sign in that nobody has decided, or whose command line has not fetched its token yet.
-- They live for minutes (src/db/people/device-logins.ts). Both codes are stored as digests only.
CREATE TABLE device_logins (
  device_code_sha256 bytea PRIMARY KEY,
  user_code_sha256   bytea NOT NULL UNIQUE,
  device_name        text NOT NULL CHECK (length(device_name) BETWEEN 1 AND 100),
  -- of the command line, for the person who decides
  address            text NOT NULL,
  -- whose requests are counted together
  network            text NOT NULL,
  created_at         timestamptz NOT NULL DEFAULT now(),
  expires_at         timestamptz NOT NULL,
  -- least time between two polls
  interval_seconds   integer NOT NULL CHECK (interval_seconds > 0),
  polled_at          timestamptz,
  -- null until somebody decides
  approved           boolean,
  -- the browser's session that decided; it must still be open when the token is fetched
  session_id         uuid REFERENCES sessions (id) ON DELETE CASCADE,
  user_id            integer REFERENCES users (id),
  workspace_id       integer REFERENCES workspaces (id),
  CHECK (approved IS NOT TRUE
         OR (session_id IS NOT NULL AND user_id IS NOT NULL AND workspace_id IS NOT NULL))
);
