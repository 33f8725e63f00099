-- An account made through an invitation's link shows that its owner held the link, not that the
-- e-mail address is theirs. Such an account belongs to the workspace of the link alone
-- (src/db/workspace-accounts.ts).
--
-- `email` stays what it was: unique, and looked up wherever an address gets something. An account of
-- one workspace has none there, so a version that does not know these columns finds no such account
-- by its address and gives it nothing.

ALTER TABLE users
  ALTER COLUMN email DROP NOT NULL,
  -- the workspace whose link made the account; null for an account that its provider or an operator
  -- vouches for
  ADD COLUMN workspace_id integer REFERENCES workspaces (id),
  -- the address that the link was for
  ADD COLUMN invited_email text CHECK (length(invited_email) BETWEEN 3 AND 254),
  -- what people sign in with and others read, either way
  ADD COLUMN address text GENERATED ALWAYS AS (coalesce(email, invited_email)) STORED,
  ADD CONSTRAINT users_one_address CHECK (
    (email IS NULL) = (invited_email IS NOT NULL)
    AND (email IS NULL) = (workspace_id IS NOT NULL)
  );
CREATE INDEX users_by_address ON users (lower(address));
