-- Accounts that belong to one workspace, and names of steps that are customers' text.
--
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

-- A step's name is its sender's: where it holds the text that a rule matched (the name of a tool
-- does), it is customers' text like the excerpt and goes with it. Those found before this know it of
-- tools' names alone (`surface`).
ALTER TABLE findings
  ADD COLUMN step_name_matched boolean NOT NULL DEFAULT false,
  ALTER COLUMN step_name DROP NOT NULL,
  -- as with excerpts (0003): ANALYZE keeps no values of it, and what it kept goes
  ALTER COLUMN step_name TYPE text,
  ALTER COLUMN step_name SET STATISTICS 0;

UPDATE findings AS f SET step_name = NULL
  FROM workspaces w
 WHERE w.id = f.workspace_id AND w.redact_excerpts AND f.surface = 'tool_name';
