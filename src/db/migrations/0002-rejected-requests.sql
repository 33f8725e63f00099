-- Requests whose rows PostgreSQL refused although they had passed every check: kept, so that the
-- fault can be found. The body is customers' text, capped, and never logged.

CREATE TABLE rejected_requests (
  workspace_id integer NOT NULL,
  id           bigint GENERATED ALWAYS AS IDENTITY,
  rejected_at  timestamptz NOT NULL DEFAULT now(),
  signal       text NOT NULL CHECK (signal IN ('traces', 'metrics', 'logs')),
  -- SQLSTATE and message of the refusal
  error_code   text NOT NULL,
  error        text NOT NULL,
  body_bytes   integer NOT NULL,
  -- the decoded body, or its beginning
  body         bytea NOT NULL,
  PRIMARY KEY (workspace_id, id)
);
