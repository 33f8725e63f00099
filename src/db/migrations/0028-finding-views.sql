-- Saved views of the findings list: a name for a filter, of one member or of the workspace
-- (docs/decisions/0050-saved-views.md).

CREATE TABLE finding_views (
  workspace_id integer NOT NULL REFERENCES workspaces (id),
  id           integer GENERATED ALWAYS AS IDENTITY,
  -- whose it is; null: of everybody in the workspace
  user_id      integer,
  name         text NOT NULL,
  -- of the list's address, without its `?`
  query        text NOT NULL,
  created_by   integer NOT NULL,
  created_at   timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (workspace_id, id),
  -- a member's own views go with the membership
  FOREIGN KEY (workspace_id, user_id) REFERENCES memberships (workspace_id, user_id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX finding_views_by_name ON finding_views (workspace_id, coalesce(user_id, 0), lower(name));
-- A filter can name a customer's user or text: ANALYZE keeps no values of it.
ALTER TABLE finding_views
  ALTER COLUMN name SET STATISTICS 0,
  ALTER COLUMN query SET STATISTICS 0;

-- The view that the findings list begins with; null, or no view any more: all open findings.
ALTER TABLE memberships ADD COLUMN finding_view_id integer;

-- Findings of one state, the latest decided: without it all decided ones are sorted.
CREATE INDEX finding_states_by_state ON finding_states (workspace_id, state, updated_at DESC)
  INCLUDE (finding_id);
