-- People: accounts, who belongs to which workspace as what, how they sign in, and the ledger of what
-- was changed by whom. Secrets (passwords, tokens) are kept as digests only.

CREATE TABLE users (
  id            integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  email         text NOT NULL CHECK (length(email) BETWEEN 3 AND 254),
  display_name  text NOT NULL,
  -- scrypt with its parameters; null for an account that only signs in through a provider
  password_hash text,
  created_at    timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX users_by_email ON users (lower(email));

CREATE TABLE memberships (
  workspace_id integer NOT NULL REFERENCES workspaces (id),
  user_id      integer NOT NULL REFERENCES users (id),
  role         text NOT NULL CHECK (role IN ('owner', 'admin', 'member')),
  created_at   timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (workspace_id, user_id)
);
CREATE INDEX memberships_by_user ON memberships (user_id, workspace_id);

-- An account at a provider. A subject is unique at its issuer only, and a provider's name here may
-- come to mean another issuer: so the issuer is the key.
CREATE TABLE identities (
  issuer     text NOT NULL,
  subject    text NOT NULL,
  provider   text NOT NULL,
  user_id    integer NOT NULL REFERENCES users (id),
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (issuer, subject)
);
CREATE INDEX identities_by_user ON identities (user_id);

CREATE TABLE invitations (
  workspace_id integer NOT NULL REFERENCES workspaces (id),
  id           integer GENERATED ALWAYS AS IDENTITY,
  email        text NOT NULL CHECK (length(email) BETWEEN 3 AND 254),
  role         text NOT NULL CHECK (role IN ('owner', 'admin', 'member')),
  token_sha256 bytea NOT NULL UNIQUE,
  -- null when a command invited
  invited_by   integer REFERENCES users (id),
  created_at   timestamptz NOT NULL DEFAULT now(),
  expires_at   timestamptz NOT NULL,
  accepted_at  timestamptz,
  revoked_at   timestamptz,
  PRIMARY KEY (workspace_id, id)
);
CREATE INDEX invitations_by_email ON invitations (lower(email))
  WHERE accepted_at IS NULL AND revoked_at IS NULL;

CREATE TABLE sessions (
  id           uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  token_sha256 bytea NOT NULL UNIQUE,
  user_id      integer NOT NULL REFERENCES users (id),
  -- which of the user's workspaces it looks at
  workspace_id integer REFERENCES workspaces (id),
  created_at   timestamptz NOT NULL DEFAULT now(),
  last_seen_at timestamptz NOT NULL DEFAULT now(),
  expires_at   timestamptz NOT NULL,
  -- what lets people recognise it: browser and system in short, the network of the address
  user_agent   text NOT NULL,
  address      text NOT NULL,
  revoked_at   timestamptz
);
CREATE INDEX sessions_by_user ON sessions (user_id, created_at);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);

-- What was changed, by whom, from where. Every entry carries the hash of the one before it in its
-- workspace, so that changing or taking out an entry breaks the chain from there on
-- (src/db/audit-chain.ts; `sluice audit verify`). `json`, not `jsonb`: the hash is over the text.
CREATE TABLE audit_ledger (
  workspace_id  integer NOT NULL REFERENCES workspaces (id),
  seq           bigint NOT NULL CHECK (seq > 0),
  -- whole milliseconds
  at            timestamptz NOT NULL,
  -- null when it was no signed-in user
  actor_user_id integer,
  -- e-mail address at that time, or what else acted
  actor         text NOT NULL,
  -- the client's address, or `command line`
  origin        text NOT NULL,
  action        text NOT NULL,
  subject       text NOT NULL,
  before        json,
  after         json,
  prev_hash     bytea NOT NULL CHECK (length(prev_hash) = 32),
  hash          bytea NOT NULL CHECK (length(hash) = 32),
  PRIMARY KEY (workspace_id, seq)
);

CREATE FUNCTION refuse_ledger_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'audit_ledger is append-only: % is refused', TG_OP
    USING ERRCODE = 'insufficient_privilege';
END
$$;
CREATE TRIGGER audit_ledger_stays BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_ledger
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_ledger_change();
-- also for whoever sets session_replication_role
ALTER TABLE audit_ledger ENABLE ALWAYS TRIGGER audit_ledger_stays;
