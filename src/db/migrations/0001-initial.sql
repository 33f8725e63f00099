-- The first schema: tenants and keys, telemetry partitioned by arrival day, runs, findings.
-- Every table that grows is keyed by workspace_id first, so that it can be distributed by it.

CREATE TABLE workspaces (
  id              integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  slug            text NOT NULL UNIQUE CHECK (slug ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
  name            text NOT NULL,
  plan            text NOT NULL DEFAULT 'free' CHECK (plan IN ('free', 'pro', 'team', 'enterprise')),
  redact_excerpts boolean NOT NULL DEFAULT false,
  experimental    boolean NOT NULL DEFAULT false,
  created_at      timestamptz NOT NULL DEFAULT now()
);

-- Only the SHA-256 of a key is kept. `prefix` is what people recognise it by.
CREATE TABLE api_keys (
  id                    integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  workspace_id          integer NOT NULL REFERENCES workspaces (id),
  kind                  text NOT NULL CHECK (kind IN ('agent', 'workspace')),
  name                  text NOT NULL,
  prefix                text NOT NULL,
  secret_sha256         bytea NOT NULL UNIQUE,
  rate_limit_per_minute integer NOT NULL DEFAULT 1000
                        CHECK (rate_limit_per_minute BETWEEN 1 AND 100000),
  created_at            timestamptz NOT NULL DEFAULT now(),
  last_used_at          timestamptz,
  revoked_at            timestamptz
);
CREATE INDEX api_keys_by_workspace ON api_keys (workspace_id, id);

CREATE TABLE rule_overrides (
  workspace_id integer NOT NULL REFERENCES workspaces (id),
  rule_id      text NOT NULL,
  enabled      boolean NOT NULL,
  updated_at   timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (workspace_id, rule_id)
);

-- A resource with one instrumentation scope, stored once by content; `id` is the content's hash.
CREATE TABLE resources (
  workspace_id             integer NOT NULL,
  id                       uuid NOT NULL,
  service_name             text,
  attributes               json NOT NULL,
  schema_url               text NOT NULL,
  dropped_attributes       bigint NOT NULL,
  scope_name               text NOT NULL,
  scope_version            text NOT NULL,
  scope_attributes         json NOT NULL,
  scope_schema_url         text NOT NULL,
  scope_dropped_attributes bigint NOT NULL,
  first_seen_at            timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (workspace_id, id)
);

-- What the points of one metric have in common, stored once by content.
CREATE TABLE metrics (
  workspace_id  integer NOT NULL,
  id            uuid NOT NULL,
  name          text NOT NULL,
  description   text NOT NULL,
  unit          text NOT NULL,
  kind          text NOT NULL,
  temporality   smallint,
  monotonic     boolean,
  metadata      json NOT NULL,
  first_seen_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (workspace_id, id)
);

-- Column order: fixed-width first, so that rows carry no padding.
-- Times are nanoseconds since 1970 as OTLP sends them; timestamptz would round them to microseconds.
CREATE TABLE spans (
  start_unix_nano    bigint NOT NULL,
  end_unix_nano      bigint NOT NULL,
  workspace_id       integer NOT NULL,
  arrived_on         date NOT NULL,
  trace_id           uuid NOT NULL,
  resource_id        uuid NOT NULL,
  kind               smallint NOT NULL,
  status_code        smallint NOT NULL,
  flags              bigint,
  dropped_attributes bigint,
  dropped_events     bigint,
  dropped_links      bigint,
  span_id            bytea NOT NULL,
  parent_span_id     bytea,
  name               text NOT NULL,
  status_message     text,
  trace_state        text,
  attributes         json NOT NULL,
  events             json,
  links              json
) PARTITION BY RANGE (arrived_on);
CREATE INDEX spans_by_trace ON spans (workspace_id, trace_id);

CREATE TABLE log_records (
  time_unix_nano     bigint NOT NULL,
  observed_unix_nano bigint NOT NULL,
  workspace_id       integer NOT NULL,
  arrived_on         date NOT NULL,
  trace_id           uuid,
  resource_id        uuid NOT NULL,
  severity_number    smallint NOT NULL,
  flags              bigint,
  dropped_attributes bigint,
  span_id            bytea,
  severity_text      text,
  event_name         text,
  body               json,
  attributes         json NOT NULL
) PARTITION BY RANGE (arrived_on);
CREATE INDEX log_records_by_trace ON log_records (workspace_id, trace_id) WHERE trace_id IS NOT NULL;

CREATE TABLE metric_points (
  time_unix_nano  bigint NOT NULL,
  start_unix_nano bigint,
  workspace_id    integer NOT NULL,
  arrived_on      date NOT NULL,
  metric_id       uuid NOT NULL,
  resource_id     uuid NOT NULL,
  flags           bigint,
  value_int       bigint,
  value_double    double precision,
  count           bigint,
  sum             double precision,
  min             double precision,
  max             double precision,
  attributes      json NOT NULL,
  distribution    json,
  exemplars       json
) PARTITION BY RANGE (arrived_on);
CREATE INDEX metric_points_by_metric ON metric_points (workspace_id, metric_id, time_unix_nano);

-- One run per trace and workspace. `attempts` is also the fencing token of the lease: whoever
-- completes a run must name the attempt it claimed.
CREATE TABLE runs (
  workspace_id     integer NOT NULL,
  run_id           uuid NOT NULL,
  state            text NOT NULL
                   CHECK (state IN ('running', 'completed', 'failed', 'timed_out')),
  evaluation       text NOT NULL DEFAULT 'pending'
                   CHECK (evaluation IN ('pending', 'evaluated', 'evaluation_failed')),
  name             text,
  service_name     text,
  start_unix_nano  bigint,
  end_unix_nano    bigint,
  spans            integer NOT NULL,
  log_records      integer NOT NULL,
  first_arrival_at timestamptz NOT NULL DEFAULT now(),
  last_arrival_at  timestamptz NOT NULL DEFAULT now(),
  lease_until      timestamptz,
  attempts         smallint NOT NULL DEFAULT 0,
  evaluated_at     timestamptz,
  -- steps that were there when the run was read; what came after is late and not evaluated
  evaluated_steps  integer,
  -- steps that were there but past the limits of one evaluation
  unread_steps     integer,
  -- surface texts that those steps held; 0 says that the instrumentation sends none
  texts            integer,
  truncated_texts  integer,
  corpus_version   text,
  rule_set_sha256  bytea,
  last_error       text,
  PRIMARY KEY (workspace_id, run_id)
);
-- One index per way of becoming due, so that a claim reads due runs only. The 5 is ATTEMPTS_MAX.
CREATE INDEX runs_finished ON runs (last_arrival_at)
  WHERE evaluation = 'pending' AND state <> 'running' AND attempts < 5;
CREATE INDEX runs_running ON runs (last_arrival_at)
  WHERE evaluation = 'pending' AND state = 'running' AND attempts < 5;
CREATE INDEX runs_exhausted ON runs (workspace_id, run_id)
  WHERE evaluation = 'pending' AND attempts >= 5;
CREATE INDEX runs_by_arrival ON runs (workspace_id, first_arrival_at DESC, run_id DESC);

CREATE TABLE findings (
  workspace_id          integer NOT NULL,
  id                    uuid NOT NULL DEFAULT gen_random_uuid(),
  created_at            timestamptz NOT NULL DEFAULT now(),
  run_id                uuid NOT NULL,
  rule_id               text NOT NULL,
  rule_version          text NOT NULL,
  rule_status           text NOT NULL,
  severity              text NOT NULL,
  category              text NOT NULL,
  subcategory           text,
  corpus_version        text NOT NULL,
  description           text NOT NULL,
  condition_index       smallint NOT NULL,
  condition_description text NOT NULL,
  field                 text NOT NULL,
  surface               text NOT NULL,
  step_span_id          bytea,
  step_name             text NOT NULL,
  excerpt               text NOT NULL,
  recommended_actions   json NOT NULL,
  PRIMARY KEY (workspace_id, id),
  UNIQUE (workspace_id, run_id, rule_id)
);
CREATE INDEX findings_by_time ON findings (workspace_id, created_at DESC, id DESC);
