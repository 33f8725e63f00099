-- What people decided about findings: a state, an assignee, notes, and the history of both. A finding's
-- own row never changes (docs/decisions/0036-triage-and-exceptions.md).

-- A finding without a row here is new and assigned to nobody.
CREATE TABLE finding_states (
  workspace_id integer NOT NULL,
  finding_id   uuid NOT NULL,
  state        text NOT NULL
               CHECK (state IN ('new', 'acknowledged', 'confirmed', 'false_positive', 'closed')),
  -- kept when the user leaves the workspace; then shown as a former member
  assignee_id  integer REFERENCES users (id),
  updated_at   timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (workspace_id, finding_id),
  FOREIGN KEY (workspace_id, finding_id) REFERENCES findings (workspace_id, id) ON DELETE CASCADE
);
CREATE INDEX finding_states_by_assignee ON finding_states (workspace_id, assignee_id)
  WHERE assignee_id IS NOT NULL;

CREATE TABLE finding_history (
  workspace_id  integer NOT NULL,
  finding_id    uuid NOT NULL,
  id            bigint GENERATED ALWAYS AS IDENTITY,
  at            timestamptz NOT NULL DEFAULT now(),
  actor_user_id integer,
  -- e-mail address at that time
  actor         text NOT NULL,
  kind          text NOT NULL CHECK (kind IN ('state', 'assignee', 'note')),
  -- states, or e-mail addresses of assignees (null for nobody); of a note, `after` is its text
  before        text,
  after         text,
  PRIMARY KEY (workspace_id, finding_id, id),
  FOREIGN KEY (workspace_id, finding_id) REFERENCES findings (workspace_id, id) ON DELETE CASCADE
);
-- Notes are written by people and may quote customers' text: ANALYZE keeps no values of them.
ALTER TABLE finding_history
  ALTER COLUMN before SET STATISTICS 0,
  ALTER COLUMN after SET STATISTICS 0;
