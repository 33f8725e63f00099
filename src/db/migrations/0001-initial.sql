-- The schema of the first release. Once it is released, changes are further files, and this one is never
-- edited.
--
--   workspaces and people    workspaces, users, memberships, identities, invitations, sessions,
--                            device_logins, api_keys, audit_ledger
--   telemetry                hot_blocks, hot_places, hot_days, blocks, places, new_blocks, receipts,
--                            rejected_requests
--   runs                     rule_sets, runs, leases, session_marks, processes
--   findings                 findings, finding_states, finding_history, finding_exceptions, finding_views
--   rules                    rule_overrides, rule_previews, rule_costs
--   tools                    tool_definitions, tool_lists
--   alerts                   alert_destinations, alert_outbox, alert_deliveries, assignment_mails
--
-- Every table that grows is keyed by workspace_id first. Fixed-width columns come first, so that rows
-- carry no padding.
--
-- SET STATISTICS 0: ANALYZE copies values of a column into pg_statistic, where no removal finds them.
-- Columns with secrets or customers' text are left out; CREATE TABLE cannot say so.
--
-- n_distinct: statistics of an almost empty table would say that each row has another workspace. A table that
-- has grown since would be joined by its workspace alone, at the square of its rows. So a workspace that ANALYZE
-- has not counted is said to have a hundred rows.

---------------------------------------------------------------------------------------------------
-- Workspaces and people. Secrets (passwords, tokens, keys) are stored as digests only.
---------------------------------------------------------------------------------------------------

CREATE TABLE workspaces (
  id              integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  slug            text NOT NULL UNIQUE CHECK (slug ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
  name            text NOT NULL,
  plan            text NOT NULL DEFAULT 'free' CHECK (plan IN ('free', 'pro', 'team', 'enterprise')),
  redact_excerpts boolean NOT NULL DEFAULT false,
  experimental    boolean NOT NULL DEFAULT false,
  created_at      timestamptz NOT NULL DEFAULT now(),
  -- the keys of findings.match_digest: 64 bytes each (a block of SHA-256), 488 bits of them random. They
  -- are used inside PostgreSQL only.
  match_key_inner bytea NOT NULL DEFAULT
    sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))
      || sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())),
  match_key_outer bytea NOT NULL DEFAULT
    sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))
      || sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())),
  -- the private key (Ed25519) that signs evidence packages, 244 bits of it random
  evidence_key    bytea NOT NULL DEFAULT
    sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())),
  -- what is redacted before it is stored (src/model/redaction/redaction.ts); null for nothing
  redaction       jsonb,
  -- the key of the digests in its marks, which servers read with the keys of a workspace that redacts
  redaction_key   bytea NOT NULL DEFAULT
    sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))
);
ALTER TABLE workspaces
  ALTER COLUMN match_key_inner SET STATISTICS 0,
  ALTER COLUMN match_key_outer SET STATISTICS 0,
  ALTER COLUMN evidence_key SET STATISTICS 0,
  ALTER COLUMN redaction SET STATISTICS 0,
  ALTER COLUMN redaction_key SET STATISTICS 0;

-- Accounts. One made through an invitation's link shows that its owner held the link, not that the e-mail
-- address is theirs: it belongs to the workspace of the link alone (src/db/people/workspace-accounts.ts).
CREATE TABLE users (
  id            integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- the workspace whose link made the account; null if its provider or an operator vouches for it
  workspace_id  integer REFERENCES workspaces (id),
  created_at    timestamptz NOT NULL DEFAULT now(),
  -- unique, and looked up wherever an address gets something; null for an account of a link
  email         text CHECK (length(email) BETWEEN 3 AND 254),
  -- the address that the link was for
  invited_email text CHECK (length(invited_email) BETWEEN 3 AND 254),
  -- what people sign in with and others read, either way
  address       text GENERATED ALWAYS AS (coalesce(email, invited_email)) STORED,
  display_name  text NOT NULL,
  -- scrypt with its parameters; null for an account that only signs in through a provider
  password_hash text,
  CONSTRAINT users_one_address CHECK (
    (email IS NULL) = (invited_email IS NOT NULL) AND (email IS NULL) = (workspace_id IS NOT NULL))
);
CREATE UNIQUE INDEX users_by_email ON users (lower(email));
CREATE INDEX users_by_address ON users (lower(address));

CREATE TABLE memberships (
  workspace_id       integer NOT NULL REFERENCES workspaces (id),
  user_id            integer NOT NULL REFERENCES users (id),
  created_at         timestamptz NOT NULL DEFAULT now(),
  -- the last look at the overview, which says what is new since the visit before
  overview_seen_at   timestamptz,
  -- the last look of the visit before; null on the first visit
  overview_new_since timestamptz,
  -- the view that the findings list begins with; null, or a view that was deleted: all open findings
  finding_view_id    integer,
  role               text NOT NULL CHECK (role IN ('owner', 'admin', 'member')),
  PRIMARY KEY (workspace_id, user_id)
);
CREATE INDEX memberships_by_user ON memberships (user_id, workspace_id);

-- Accounts at sign-in providers. A subject is unique at its issuer only, and a provider's name here may
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
  -- null when a command invited
  invited_by   integer REFERENCES users (id),
  created_at   timestamptz NOT NULL DEFAULT now(),
  expires_at   timestamptz NOT NULL,
  accepted_at  timestamptz,
  revoked_at   timestamptz,
  email        text NOT NULL CHECK (length(email) BETWEEN 3 AND 254),
  role         text NOT NULL CHECK (role IN ('owner', 'admin', 'member')),
  token_sha256 bytea NOT NULL UNIQUE,
  PRIMARY KEY (workspace_id, id)
);
CREATE INDEX invitations_by_email ON invitations (lower(email))
  WHERE accepted_at IS NULL AND revoked_at IS NULL;

-- Logins of browsers and command lines. All are listed, revoked and ended the same way; neither kind can
-- use the other's token.
CREATE TABLE sessions (
  id           uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  user_id      integer NOT NULL REFERENCES users (id),
  -- the open workspace
  workspace_id integer REFERENCES workspaces (id),
  created_at   timestamptz NOT NULL DEFAULT now(),
  last_seen_at timestamptz NOT NULL DEFAULT now(),
  expires_at   timestamptz NOT NULL,
  revoked_at   timestamptz,
  kind         text NOT NULL CHECK (kind IN ('browser', 'cli')),
  token_sha256 bytea NOT NULL UNIQUE,
  -- what lets people recognise it: browser and system in short, the network of the address
  user_agent   text NOT NULL,
  address      text NOT NULL
);
CREATE INDEX sessions_by_user ON sessions (user_id, created_at);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);

-- Requests to sign a command line in, in the style of RFC 8628, until it has fetched its token. They live
-- for minutes (src/db/people/device-logins.ts).
CREATE TABLE device_logins (
  device_code_sha256 bytea PRIMARY KEY,
  user_code_sha256   bytea NOT NULL UNIQUE,
  created_at         timestamptz NOT NULL DEFAULT now(),
  expires_at         timestamptz NOT NULL,
  polled_at          timestamptz,
  -- the browser's session that decided; it must still be open when the token is fetched
  session_id         uuid REFERENCES sessions (id) ON DELETE CASCADE,
  user_id            integer REFERENCES users (id),
  workspace_id       integer REFERENCES workspaces (id),
  -- least time between two polls
  interval_seconds   integer NOT NULL CHECK (interval_seconds > 0),
  -- null until somebody decides
  approved           boolean,
  device_name        text NOT NULL CHECK (length(device_name) BETWEEN 1 AND 100),
  -- of the command line, for the person who decides
  address            text NOT NULL,
  -- whose requests are counted together
  network            text NOT NULL,
  CHECK (approved IS NOT TRUE
         OR (session_id IS NOT NULL AND user_id IS NOT NULL AND workspace_id IS NOT NULL))
);

-- `prefix` is what people recognise a key by.
CREATE TABLE api_keys (
  id                    integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  workspace_id          integer NOT NULL REFERENCES workspaces (id),
  created_at            timestamptz NOT NULL DEFAULT now(),
  last_used_at          timestamptz,
  revoked_at            timestamptz,
  rate_limit_per_minute integer NOT NULL DEFAULT 1000
                        CHECK (rate_limit_per_minute BETWEEN 1 AND 100000),
  kind                  text NOT NULL CHECK (kind IN ('agent', 'workspace')),
  name                  text NOT NULL,
  prefix                text NOT NULL,
  secret_sha256         bytea NOT NULL UNIQUE
);
CREATE INDEX api_keys_by_workspace ON api_keys (workspace_id, id);

-- Changes, with who made them and from where. Every entry contains the hash of the one before it in its
-- workspace, so that changing or removing an entry breaks the chain from there on
-- (src/db/people/audit-chain.ts; `sluice audit verify`). `json`, not `jsonb`: the hash is over the text.
CREATE TABLE audit_ledger (
  seq           bigint NOT NULL CHECK (seq > 0),
  -- whole milliseconds
  at            timestamptz NOT NULL,
  workspace_id  integer NOT NULL REFERENCES workspaces (id),
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
-- also if session_replication_role is set
ALTER TABLE audit_ledger ENABLE ALWAYS TRIGGER audit_ledger_stays;

---------------------------------------------------------------------------------------------------
-- Telemetry, partitioned by the UTC day of arrival (src/db/telemetry/partitions.ts).
---------------------------------------------------------------------------------------------------

-- Telemetry as it was sent: compressed lines of OTLP/JSON (docs/decisions/0008-blocks.md). Traces and logs arrive
-- in hot blocks; their records are packed by run into blocks that are kept, and the hot blocks are dropped after
-- HOT_DAYS (docs/decisions/0009-hot-and-packed-blocks.md).
CREATE TABLE hot_blocks (
  block_id     uuid NOT NULL,
  workspace_id integer NOT NULL,
  arrived_on   date NOT NULL,
  -- before compression
  bytes        integer NOT NULL,
  -- spans, log records or data points
  records      integer NOT NULL,
  -- CRC-32 of data
  checksum     integer NOT NULL,
  -- 1 traces, 2 metrics, 3 logs
  signal       smallint NOT NULL,
  -- 1 brotli, 2 zstd
  codec        smallint NOT NULL,
  -- lines, each an export request with a line feed at its end
  data         bytea NOT NULL
) PARTITION BY RANGE (arrived_on);
ALTER TABLE hot_blocks ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE INDEX hot_blocks_by_id ON hot_blocks (block_id);
-- The log records of a workspace, the newest first.
CREATE INDEX hot_blocks_of_logs ON hot_blocks (workspace_id, block_id) WHERE signal = 3;

-- Which records of a hot block belong to a run: its spans, or its log records.
CREATE TABLE hot_places (
  block_id     uuid NOT NULL,
  run_id       uuid NOT NULL,
  -- when the transaction that stored it began (src/db/runs/late-steps.ts)
  arrived_at   timestamptz NOT NULL DEFAULT now(),
  workspace_id integer NOT NULL,
  arrived_on   date NOT NULL,
  -- numbers of the records, from 0 in the order of the block's lines (src/model/record-ranges.ts)
  records      bytea NOT NULL
) PARTITION BY RANGE (arrived_on);
-- The workspace comes first: a workspace that learns the trace id of another one's run cannot slow it down.
CREATE INDEX hot_places_by_run ON hot_places (workspace_id, run_id);

-- Hot days that are over and being packed, until their blocks are dropped (src/db/telemetry/packed/hot-days.ts).
CREATE TABLE hot_days (
  day               date PRIMARY KEY,
  -- the last hot block that was looked at, as all before it; null before the first group and after the last one
  packed_to         uuid,
  -- the process that packs, until then
  leased_by         uuid,
  lease_until       timestamptz,
  -- nothing is left to pack: the places may be dropped
  packed_at         timestamptz,
  places_dropped_at timestamptz
);

-- Metrics as they were sent, and packed records of traces and logs that arrived on this day. A packed block has two
-- parts (docs/decisions/0009-hot-and-packed-blocks.md). A hot block that cannot be read is kept here as it is.
CREATE TABLE blocks (
  block_id        uuid NOT NULL,
  workspace_id    integer NOT NULL,
  arrived_on      date NOT NULL,
  bytes           integer NOT NULL,
  records         integer NOT NULL,
  checksum        integer NOT NULL,
  -- of a packed block, else null: bytes of both parts before compression, and the checksum of the narrow part;
  -- `checksum` and `data` are those of the documents
  narrow_bytes    integer,
  documents_bytes integer,
  narrow_checksum integer,
  signal          smallint NOT NULL,
  codec           smallint NOT NULL,
  narrow          bytea,
  data            bytea NOT NULL,
  -- of a packed block: which texts are not in it (src/model/packed/text-filter.ts)
  filter          bytea
) PARTITION BY RANGE (arrived_on);
ALTER TABLE blocks
  ALTER COLUMN narrow SET STORAGE EXTERNAL,
  ALTER COLUMN filter SET STORAGE EXTERNAL,
  ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE INDEX blocks_by_id ON blocks (block_id);
-- The packed blocks of a workspace that a search for text looks through, the newest first.
CREATE INDEX blocks_with_filter ON blocks (workspace_id, block_id) WHERE filter IS NOT NULL;
-- The metrics and the packed log records of a workspace, the newest first.
CREATE INDEX blocks_of_metrics_and_logs ON blocks (workspace_id, signal, block_id) WHERE signal > 1;

-- Which records of a packed block belong to a run, and where they arrived. The hot places of the run in these
-- hot blocks are not read any more.
CREATE TABLE places (
  block_id       uuid NOT NULL,
  run_id         uuid NOT NULL,
  -- as its latest hot place
  arrived_at     timestamptz NOT NULL,
  workspace_id   integer NOT NULL,
  arrived_on     date NOT NULL,
  records        bytea NOT NULL,
  -- the hot blocks in which the records arrived, in the order of arrival
  sources        uuid[] NOT NULL,
  -- the numbers of the records in them (src/db/telemetry/packed/sources.ts)
  source_records bytea NOT NULL
) PARTITION BY RANGE (arrived_on);
CREATE INDEX places_by_run ON places (workspace_id, run_id);
CREATE INDEX places_by_block ON places (block_id);

-- One row: the codec of new blocks. It becomes zstd when every process reads that, and never brotli again
-- (src/db/telemetry/new-blocks.ts).
CREATE TABLE new_blocks (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  codec    smallint NOT NULL DEFAULT 1 CHECK (codec IN (1, 2))
);
INSERT INTO new_blocks DEFAULT VALUES;

-- Requests stored within the last hour, by the hash of their bodies, so that a request that is sent again
-- is answered as before and stored once (docs/decisions/0007-stored-once.md).
--
-- A receipt is a row of the period in which its request arrived and, in the first hour of a period,
-- another row of the period before: two requests less than an hour apart then share a row, which the
-- primary key refuses, even while the other request is still being stored.
CREATE TABLE receipts (
  workspace_id integer NOT NULL,
  -- of four hours, since 1970
  period       integer NOT NULL,
  -- of path and decompressed body: the first 128 bits of SHA-256
  body_hash    uuid NOT NULL,
  -- the body of the first answer, unless that was {}
  answer       text,
  PRIMARY KEY (workspace_id, period, body_hash)
) PARTITION BY RANGE (period);

-- Refused requests, of two kinds (docs/decisions/0006-refused-requests.md). A row with a body is a request
-- whose rows PostgreSQL refused although they had passed every check: it is kept, so that the fault can be
-- found. A row with `since` counts equal refusals of a workspace's keys within five minutes.
CREATE TABLE rejected_requests (
  id           bigint GENERATED ALWAYS AS IDENTITY,
  rejected_at  timestamptz NOT NULL DEFAULT now(),
  -- beginning of the five minutes
  since        timestamptz,
  workspace_id integer NOT NULL,
  key_id       integer,
  requests     integer,
  body_bytes   integer,
  -- a code of the error table, or revoked_key
  reason       text,
  address      text,
  user_agent   text,
  path         text,
  signal       text CHECK (signal IN ('traces', 'metrics', 'logs')),
  -- SQLSTATE and message of the refusal
  error_code   text,
  error        text,
  -- the decoded body, or its beginning: customers' text, never logged
  body         bytea,
  PRIMARY KEY (workspace_id, id),
  CHECK ((since IS NULL) <> (body IS NULL))
);
CREATE UNIQUE INDEX rejected_requests_counted
  ON rejected_requests (workspace_id, since, reason, key_id, address, user_agent, path)
  WHERE since IS NOT NULL;

---------------------------------------------------------------------------------------------------
-- Runs.
---------------------------------------------------------------------------------------------------

-- The rule sets that runs were evaluated with: few rows, each named by a digest of the others (src/db/runs/rule-sets.ts).
CREATE TABLE rule_sets (
  id              bigint PRIMARY KEY,
  -- SURFACE_CAP_BYTES at that time
  text_cap_bytes  integer NOT NULL,
  corpus_version  text NOT NULL,
  -- 20 bytes (`corpusIdentity`): package archive and reviewed file list together
  corpus_identity bytea NOT NULL,
  rule_set_sha256 bytea NOT NULL
);

-- One run per trace or prompt of a session, and workspace. A row is written twice, when the run arrives and
-- when it is evaluated, and kept for long: what runs share is in `rule_sets`, what a claim needs in `leases`,
-- and a count of an evaluation that is 0, or an empty list, is null. `texts` is null until the run is evaluated.
CREATE TABLE runs (
  start_unix_nano      bigint,
  end_unix_nano        bigint,
  first_arrival_at     timestamptz NOT NULL DEFAULT now(),
  last_arrival_at      timestamptz NOT NULL DEFAULT now(),
  -- later arrivals do not delay the evaluation: set when a run begins and again when it finishes, null once it is
  -- evaluated
  settles_until        timestamptz,
  evaluated_at         timestamptz,
  -- the rows that were evaluated, as `leases.claimed_…`
  evaluated_to         timestamptz,
  -- when steps were evaluated after the others, the last time
  late_evaluated_at    timestamptz,
  rule_set_id          bigint,
  -- the definitions of tools that its steps send (tool_lists)
  tool_list_id         bigint,
  -- sums over its steps, as their senders report them
  input_tokens         bigint,
  output_tokens        bigint,
  cache_read_tokens    bigint,
  cache_write_tokens   bigint,
  reasoning_tokens     bigint,
  cost_usd             double precision,
  run_id               uuid NOT NULL,
  -- the session whose course ends the run, if it has no span to end it
  session_key          uuid,
  workspace_id         integer NOT NULL,
  spans                integer NOT NULL,
  log_records          integer NOT NULL,
  -- spans that were sent again with the same content. The evaluation subtracts them from `spans`:
  -- spans + repeated_spans + log_records rows are stored
  repeated_spans       integer NOT NULL DEFAULT 0,
  evaluated_steps      integer,
  -- surface texts that the steps held; 0 says that the instrumentation sends none
  texts                integer,
  -- steps that were there but past the limits of one evaluation
  unread_steps         integer,
  -- steps among `evaluated_steps` that were evaluated after the others
  late_evaluated_steps integer,
  -- texts that were cut: only the beginning was matched
  truncated_texts      integer,
  -- values that were matched as written, because parsing them would have taken too much
  unparsed_values      integer,
  -- attributes with text that no convention reads, and the keys of the first of them
  unread_texts         integer,
  -- evaluations that began alone or ended undecided
  attempts             smallint NOT NULL DEFAULT 0,
  -- bits of the surfaces of its texts; tool_name alone where the sender sends no other text
  surfaces             smallint,
  -- it was evaluated, and has steps that were not
  late_waits           boolean NOT NULL DEFAULT false,
  state                text NOT NULL CHECK (state IN ('running', 'completed', 'failed', 'timed_out')),
  evaluation           text NOT NULL DEFAULT 'pending'
                       CHECK (evaluation IN ('pending', 'evaluated', 'evaluation_failed')),
  -- names and ids as sent
  name                 text,
  service_name         text,
  agent_name           text,
  model                text,
  session_id           text,
  user_id              text,
  last_error           text,
  unread_keys          text[],
  -- roles of messages that are not known
  unknown_roles        text[],
  -- why not all of its text is here
  text_gaps            text[],
  -- the line of configuration or code that makes its instrumentation send text
  capture_hint         text,
  evaluated_without    timestamptz[],
  -- the beginning of the first text that a user sent; removed with the steps, and by redaction
  title                text,
  -- the first tools that its steps name; removed with the title, because a rule may match them
  tools                text[],
  PRIMARY KEY (workspace_id, run_id)
);
ALTER TABLE runs
  ALTER COLUMN title SET STATISTICS 0,
  ALTER COLUMN tools SET STATISTICS 0;

-- Runs that wait, in the order of what the settle time and the time-out count from (src/db/runs/due-runs.ts,
-- which has the same conditions). A workspace's runs are beside each other, so that a claim goes from one
-- workspace to the next without reading what lies between. The 5 is ATTEMPTS_MAX.
CREATE INDEX runs_finished ON runs (workspace_id, least(last_arrival_at, settles_until))
  WHERE (evaluation = 'pending' OR late_waits) AND state <> 'running' AND attempts < 5;
CREATE INDEX runs_running ON runs (workspace_id, least(last_arrival_at, settles_until))
  WHERE evaluation = 'pending' AND state = 'running' AND attempts < 5;
CREATE INDEX runs_exhausted ON runs (workspace_id, run_id)
  WHERE (evaluation = 'pending' OR late_waits) AND attempts >= 5;
-- Runs of one batch have the same time, so that PostgreSQL stores it once for all of them.
CREATE INDEX runs_by_arrival ON runs (workspace_id, first_arrival_at);
CREATE INDEX runs_by_session ON runs (workspace_id, session_id)
  WHERE session_id IS NOT NULL;
-- In the order in which a mark completes them, so that those it does not complete are not read.
CREATE INDEX runs_of_open_sessions ON runs (workspace_id, session_key, start_unix_nano)
  WHERE session_key IS NOT NULL AND state = 'running' AND evaluation = 'pending';
CREATE INDEX runs_by_tool_list ON runs (workspace_id, tool_list_id) WHERE tool_list_id IS NOT NULL;
-- Titles and names of tools to be removed.
CREATE INDEX runs_with_title ON runs (workspace_id, first_arrival_at)
  WHERE title IS NOT NULL OR tools IS NOT NULL;

-- Runs that are claimed, or were and have been released. UNLOGGED: after a crash of PostgreSQL, and on a standby
-- that takes over, it is empty. Then every claim is void, and the runs are due.
CREATE SEQUENCE claims;
CREATE UNLOGGED TABLE leases (
  -- the fencing token, which only grows. Whoever completes a run names it
  claim           bigint NOT NULL DEFAULT nextval('claims'),
  -- the run may be claimed from then on
  lease_until     timestamptz NOT NULL,
  -- the rows that the claim evaluates: those that arrived until then, except rows of these transactions, which
  -- had begun by then and were not committed (src/db/runs/late-steps.ts)
  claimed_to      timestamptz NOT NULL,
  run_id          uuid NOT NULL,
  -- the process that evaluates the run, or null
  leased_by       uuid,
  workspace_id    integer NOT NULL,
  -- how many rows the run had then
  claimed_rows    integer NOT NULL,
  claimed_without timestamptz[],
  PRIMARY KEY (workspace_id, run_id)
);
CREATE INDEX leases_by_end ON leases (workspace_id, lease_until);

-- Moments after which a session's earlier runs are over: a prompt (of `run_id`), or its end. Written by
-- ingest, removed by the pass (src/db/runs/session-runs.ts).
CREATE TABLE session_marks (
  id           bigint GENERATED ALWAYS AS IDENTITY,
  at_unix_nano bigint NOT NULL,
  arrived_at   timestamptz NOT NULL DEFAULT now(),
  session_key  uuid NOT NULL,
  run_id       uuid,
  workspace_id integer NOT NULL,
  PRIMARY KEY (workspace_id, id)
);
CREATE INDEX session_marks_by_arrival ON session_marks (arrived_at);

-- Processes that evaluate runs (src/db/runs/processes.ts). `seen_at` is by this server's clock.
CREATE TABLE processes (
  id         uuid PRIMARY KEY,
  seen_at    timestamptz NOT NULL,
  -- whether it reads blocks of this codec
  reads_zstd boolean NOT NULL
);

---------------------------------------------------------------------------------------------------
-- Findings. What people decide about them is beside them (docs/decisions/0021-triage-and-exceptions.md).
---------------------------------------------------------------------------------------------------

-- The values of `findings.more_places` that exceptions compare. A place that represents further ones has neither. A
-- tool's name on its own surface is matched text, and compared as text.
CREATE FUNCTION place_digests(places jsonb) RETURNS bytea[]
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT array_agg(CASE WHEN NOT (place->>'rest')::boolean THEN decode(place->>'digest', 'hex') END
                   ORDER BY number)
    FROM jsonb_array_elements(places) WITH ORDINALITY AS own (place, number)
$$;
CREATE FUNCTION place_tools(places jsonb) RETURNS text[]
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT array_agg(CASE WHEN NOT (place->>'rest')::boolean AND place->>'surface' <> 'tool_name'
                        THEN place->>'tool' END ORDER BY number)
    FROM jsonb_array_elements(places) WITH ORDINALITY AS own (place, number)
$$;

-- One finding per rule and run, with the first match of the rule and the facts of the run at that time.
CREATE TABLE findings (
  created_at            timestamptz NOT NULL DEFAULT now(),
  workspace_id          integer NOT NULL,
  id                    uuid NOT NULL DEFAULT gen_random_uuid(),
  run_id                uuid NOT NULL,
  condition_index       smallint NOT NULL,
  -- the step's name contains matched text: it is removed with the excerpt
  step_name_matched     boolean NOT NULL,
  rule_id               text NOT NULL,
  rule_version          text NOT NULL,
  rule_status           text NOT NULL,
  severity              text NOT NULL,
  category              text NOT NULL,
  subcategory           text,
  corpus_version        text NOT NULL,
  corpus_identity       bytea NOT NULL,
  description           text NOT NULL,
  recommended_actions   json NOT NULL,
  agent_name            text,
  service_name          text,
  user_id               text,
  session_id            text,
  model                 text,
  condition_description text NOT NULL,
  field                 text NOT NULL,
  surface               text NOT NULL,
  step_span_id          bytea,
  -- null when redacted, as the excerpt: a workspace that redacts has no matched text stored at all
  step_name             text,
  -- of the call that the step is; on the surface tool_name it is matched text, redacted with the excerpt
  tool_name             text,
  excerpt               text,
  -- of the matched text, keyed (workspaces.match_key_…): equal texts have equal digests
  match_digest          bytea NOT NULL,
  -- step, text and range of the match in its run (`FindingPlace`); contains no text
  place                 json NOT NULL,
  -- the distinct matches after the first, at most 21: what the columns say of the first one, with its
  -- digest. Null for a finding with one match. The last one may represent further ones (`rest`).
  more_places           jsonb,
  more_digests          bytea[] GENERATED ALWAYS AS (place_digests(more_places)) STORED,
  more_tools            text[] GENERATED ALWAYS AS (place_tools(more_places)) STORED,
  PRIMARY KEY (workspace_id, id),
  UNIQUE (workspace_id, run_id, rule_id)
);
ALTER TABLE findings
  ALTER COLUMN step_name SET STATISTICS 0,
  ALTER COLUMN tool_name SET STATISTICS 0,
  ALTER COLUMN excerpt SET STATISTICS 0,
  ALTER COLUMN more_places SET STATISTICS 0;
-- The overview counts per day from the index alone, without visiting the rows.
CREATE INDEX findings_by_time ON findings (workspace_id, created_at DESC, id DESC)
  INCLUDE (severity, category);
-- Which kinds of findings there are, and the newest of each: `listFindings` merges those that fit a
-- filter, so that a rare kind is found as quickly as a common one.
CREATE INDEX findings_by_kind
  ON findings (workspace_id, severity, category, rule_id, created_at DESC, id DESC);
-- For exceptions, which hide the newest findings of a rule.
CREATE INDEX findings_by_rule ON findings (workspace_id, rule_id, created_at DESC, id DESC);
-- Repetitions of a finding: the same rule and the same matched text.
CREATE INDEX findings_by_match
  ON findings (workspace_id, rule_id, match_digest, created_at DESC, id DESC);
-- How often a rule fired for an agent (else service), and first: what incidents are ranked by.
CREATE INDEX findings_by_agent
  ON findings (workspace_id, (coalesce(agent_name, service_name, '')), rule_id, created_at DESC);
CREATE INDEX findings_by_tool ON findings (workspace_id, tool_name, created_at)
  WHERE tool_name IS NOT NULL;
CREATE INDEX findings_by_user ON findings (workspace_id, user_id, created_at)
  WHERE user_id IS NOT NULL;

-- A finding without a row here is new and assigned to nobody.
CREATE TABLE finding_states (
  updated_at   timestamptz NOT NULL DEFAULT now(),
  workspace_id integer NOT NULL,
  -- kept when the user leaves the workspace; then shown as a former member
  assignee_id  integer REFERENCES users (id),
  finding_id   uuid NOT NULL,
  state        text NOT NULL
               CHECK (state IN ('new', 'acknowledged', 'confirmed', 'false_positive', 'closed')),
  PRIMARY KEY (workspace_id, finding_id),
  FOREIGN KEY (workspace_id, finding_id) REFERENCES findings (workspace_id, id) ON DELETE CASCADE
);
CREATE INDEX finding_states_by_assignee ON finding_states (workspace_id, assignee_id)
  WHERE assignee_id IS NOT NULL;
-- Findings of one state, the latest decided: without it all decided ones are sorted.
CREATE INDEX finding_states_by_state ON finding_states (workspace_id, state, updated_at DESC)
  INCLUDE (finding_id);

-- The history of states and assignees, and notes.
CREATE TABLE finding_history (
  id            bigint GENERATED ALWAYS AS IDENTITY,
  at            timestamptz NOT NULL DEFAULT now(),
  workspace_id  integer NOT NULL,
  actor_user_id integer,
  finding_id    uuid NOT NULL,
  -- e-mail address at that time
  actor         text NOT NULL,
  kind          text NOT NULL CHECK (kind IN ('state', 'assignee', 'note')),
  -- states, or e-mail addresses of assignees (null for nobody); of a note, `after` is its text, which may
  -- quote customers' text
  before        text,
  after         text,
  PRIMARY KEY (workspace_id, finding_id, id),
  FOREIGN KEY (workspace_id, finding_id) REFERENCES findings (workspace_id, id) ON DELETE CASCADE
);
ALTER TABLE finding_history
  ALTER COLUMN before SET STATISTICS 0,
  ALTER COLUMN after SET STATISTICS 0;

-- Exceptions: matches of one rule that lists hide by default and that raise no alerts, until a time. One
-- hides a finding only if every distinct match of the rule in the run is covered.
CREATE TABLE finding_exceptions (
  created_at   timestamptz NOT NULL DEFAULT now(),
  expires_at   timestamptz NOT NULL,
  -- null unless somebody ended it before it expired
  ended_at     timestamptz,
  workspace_id integer NOT NULL REFERENCES workspaces (id),
  id           integer GENERATED ALWAYS AS IDENTITY,
  rule_id      text NOT NULL,
  -- The parts that a match must all have; null: any. An empty name: the match has none.
  -- of the matched text, as in findings
  match_digest bytea,
  agent_name   text,
  service_name text,
  tool_name    text,
  reason       text NOT NULL,
  -- e-mail addresses at that time, or what else acted
  created_by   text NOT NULL,
  ended_by     text,
  PRIMARY KEY (workspace_id, id),
  -- That a match has no name is not enough to make one.
  CHECK (num_nonnulls(match_digest, nullif(agent_name, ''), nullif(service_name, ''),
                      nullif(tool_name, '')) > 0)
);
CREATE INDEX finding_exceptions_by_rule ON finding_exceptions (workspace_id, rule_id)
  WHERE ended_at IS NULL;

-- Saved views of the findings list: a name for a filter (docs/decisions/0020-findings-list.md).
CREATE TABLE finding_views (
  created_at   timestamptz NOT NULL DEFAULT now(),
  workspace_id integer NOT NULL REFERENCES workspaces (id),
  id           integer GENERATED ALWAYS AS IDENTITY,
  -- the member whose view it is; null: of everybody in the workspace
  user_id      integer,
  created_by   integer NOT NULL,
  name         text NOT NULL,
  -- of the list's address, without its `?`; a filter can name a customer's user or text
  query        text NOT NULL,
  PRIMARY KEY (workspace_id, id),
  -- a member's own views go with the membership
  FOREIGN KEY (workspace_id, user_id) REFERENCES memberships (workspace_id, user_id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX finding_views_by_name
  ON finding_views (workspace_id, coalesce(user_id, 0), lower(name));
ALTER TABLE finding_views
  ALTER COLUMN name SET STATISTICS 0,
  ALTER COLUMN query SET STATISTICS 0;

-- Runs and findings for reports, without texts and without names that a rule may have matched
-- (docs/operations.md, deploy/grafana/agents.json).
CREATE VIEW report_runs AS
  SELECT w.slug AS workspace, r.first_arrival_at AS arrived_at, encode(uuid_send(r.run_id), 'hex') AS run_id,
         r.state, r.evaluation, r.agent_name AS agent, r.service_name AS service, r.user_id, r.session_id,
         r.model, r.spans + r.log_records AS steps,
         CASE WHEN r.state IN ('completed', 'failed')
              THEN (r.end_unix_nano - r.start_unix_nano) / 1000000000.0 END AS seconds,
         r.input_tokens, r.output_tokens, r.cache_read_tokens, r.cache_write_tokens, r.reasoning_tokens,
         r.cost_usd
    FROM runs r JOIN workspaces w ON w.id = r.workspace_id;
CREATE VIEW report_findings AS
  SELECT w.slug AS workspace, f.created_at AS found_at, encode(uuid_send(f.run_id), 'hex') AS run_id, f.rule_id,
         f.severity, f.category, f.agent_name AS agent, f.service_name AS service, f.user_id, f.session_id,
         f.model, coalesce(s.state, 'new') AS state
    FROM findings f JOIN workspaces w ON w.id = f.workspace_id
    LEFT JOIN finding_states s ON s.workspace_id = f.workspace_id AND s.finding_id = f.id;

---------------------------------------------------------------------------------------------------
-- Rules.
---------------------------------------------------------------------------------------------------

-- Rules that a workspace has switched on or off.
CREATE TABLE rule_overrides (
  updated_at   timestamptz NOT NULL DEFAULT now(),
  workspace_id integer NOT NULL REFERENCES workspaces (id),
  enabled      boolean NOT NULL,
  rule_id      text NOT NULL,
  PRIMARY KEY (workspace_id, rule_id)
);

-- Findings that rules would have had in stored runs (docs/decisions/0022-previews.md). A preview writes no
-- finding and changes no run; its row is the job and, when it has finished, the result.
CREATE TABLE rule_previews (
  requested_at    timestamptz NOT NULL DEFAULT now(),
  started_at      timestamptz,
  finished_at     timestamptz,
  workspace_id    integer NOT NULL,
  id              uuid NOT NULL DEFAULT gen_random_uuid(),
  days            integer NOT NULL,
  kind            text NOT NULL CHECK (kind IN ('rule', 'experimental')),
  -- the rules that are matched; of the kind `rule` one
  rule_ids        text[] NOT NULL,
  requested_by    text NOT NULL,
  state           text NOT NULL DEFAULT 'queued'
                  CHECK (state IN ('queued', 'running', 'done', 'cancelled', 'failed')),
  failure         text,
  corpus_version  text NOT NULL,
  corpus_identity bytea NOT NULL,
  -- evaluated runs of those days, and of how many in 10,000 the steps are matched; null before the start
  runs_in_range   integer,
  sample          integer,
  -- how many days before the request the oldest of those runs arrived
  oldest_days     double precision,
  runs_planned    integer,
  -- so far: matched; with a match; larger than a preview reads; not matched to their end
  runs_read       integer NOT NULL DEFAULT 0,
  runs_found      integer NOT NULL DEFAULT 0,
  runs_skipped    integer NOT NULL DEFAULT 0,
  runs_cut        integer NOT NULL DEFAULT 0,
  cpu_ms          double precision NOT NULL DEFAULT 0,
  -- by rule id: the runs that it matches, and where in some of them
  results         json NOT NULL DEFAULT '{}',
  -- the last run that is counted; earlier arrivals follow
  cursor_at       timestamptz,
  cursor_run      uuid,
  -- the claim that works on it, and until when that may be silent
  claim           uuid,
  lease_until     timestamptz,
  PRIMARY KEY (workspace_id, id)
);
-- One at a time in a workspace.
CREATE UNIQUE INDEX rule_previews_open ON rule_previews (workspace_id)
  WHERE state IN ('queued', 'running');

-- How long matching each rule took on this server's threads, sampled, by UTC day. It is about rules and
-- not about anybody's data: at most one row for a rule and day, for thirty days.
CREATE TABLE rule_costs (
  day      date NOT NULL,
  rule_id  text NOT NULL,
  -- sampled: how often the rule was searched for in texts, and how long that took
  searches bigint NOT NULL,
  micros   double precision NOT NULL,
  PRIMARY KEY (day, rule_id)
);

---------------------------------------------------------------------------------------------------
-- Tools: their definitions, as agents send them to their model or MCP servers list them (src/db/tools/).
---------------------------------------------------------------------------------------------------

-- Each distinct definition once. Texts are cut, hashes are over the whole texts; a workspace that redacts has no
-- texts and no names.
CREATE TABLE tool_definitions (
  first_seen_at    timestamptz NOT NULL DEFAULT now(),
  -- to within ten minutes
  last_seen_at     timestamptz NOT NULL DEFAULT now(),
  -- when somebody marked the change as seen
  acknowledged_at  timestamptz,
  id               uuid NOT NULL,
  -- of agent, server and name: the same for all versions of the tool
  tool_id          uuid NOT NULL,
  first_run_id     uuid NOT NULL,
  -- null where the sender does not send the part
  description_hash uuid,
  schema_hash      uuid,
  workspace_id     integer NOT NULL,
  -- from 1, in the order in which they were first seen
  version          integer NOT NULL,
  description_chars integer NOT NULL,
  schema_chars     integer NOT NULL,
  -- it differs from every version before
  is_change        boolean NOT NULL,
  -- of the run, or else its service; may be empty, as the MCP server
  agent            text NOT NULL,
  acknowledged_by  text,
  server           text,
  name             text,
  description      text,
  -- JSON with sorted keys, or its beginning
  schema           text,
  PRIMARY KEY (workspace_id, id)
);
ALTER TABLE tool_definitions
  ALTER COLUMN server SET STATISTICS 0,
  ALTER COLUMN name SET STATISTICS 0,
  ALTER COLUMN description SET STATISTICS 0,
  ALTER COLUMN schema SET STATISTICS 0;
CREATE INDEX tool_definitions_by_tool ON tool_definitions (workspace_id, tool_id);
-- Changes that nobody has marked as seen.
CREATE INDEX tool_definitions_changed ON tool_definitions (workspace_id, first_seen_at)
  WHERE is_change AND acknowledged_at IS NULL;

-- The definitions that the steps of a run send together; `runs.tool_list_id` names it.
CREATE TABLE tool_lists (
  last_seen_at timestamptz NOT NULL DEFAULT now(),
  -- a digest of the others
  id           bigint NOT NULL,
  workspace_id integer NOT NULL,
  -- definitions that were not kept
  left_out     integer NOT NULL,
  definitions  uuid[] NOT NULL,
  PRIMARY KEY (workspace_id, id)
);

---------------------------------------------------------------------------------------------------
-- Alerts (docs/decisions/0023-alerts.md).
---------------------------------------------------------------------------------------------------

-- Where findings are sent.
CREATE TABLE alert_destinations (
  created_at       timestamptz NOT NULL DEFAULT now(),
  -- the next message is not sent before
  next_at          timestamptz NOT NULL DEFAULT now(),
  -- the process that sends has it until then
  lease_until      timestamptz,
  lease_token      uuid,
  id               integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  workspace_id     integer NOT NULL REFERENCES workspaces (id),
  -- messages in a row that were not delivered
  failures         smallint NOT NULL DEFAULT 0,
  paused           boolean NOT NULL DEFAULT false,
  -- messages name the user of a run
  shows_user       boolean NOT NULL DEFAULT false,
  -- changed definitions of tools are sent, too; never as OCSF, because they are no findings
  tool_changes     boolean NOT NULL DEFAULT false,
  name             text NOT NULL,
  -- json, slack, ocsf: the body of a webhook; email
  format           text NOT NULL,
  -- of a webhook, and the key of its signatures; null for e-mail. Paths may be passwords.
  url              text,
  secret           bytea,
  -- a replaced key, used beside the new one for two days: receivers can change it without losing messages
  old_secret       bytea,
  old_secret_until timestamptz,
  -- of e-mail; null for webhooks
  recipients       text[],
  -- the severities that are sent, from the least one up
  severities       text[] NOT NULL,
  -- null: all
  categories       text[],
  -- null: every agent
  agent            text,
  agent_match      text NOT NULL DEFAULT 'contains'
);
ALTER TABLE alert_destinations
  ALTER COLUMN url SET STATISTICS 0,
  ALTER COLUMN secret SET STATISTICS 0,
  ALTER COLUMN old_secret SET STATISTICS 0;
CREATE INDEX alert_destinations_of_workspace ON alert_destinations (workspace_id);

-- Findings to be sent, and changed definitions of tools: written in the transaction of the finding or the change, deleted
-- once they are delivered.
-- Without foreign keys, so that removing a destination never fails a finding that is being stored.
CREATE TABLE alert_outbox (
  queued_at      timestamptz NOT NULL DEFAULT now(),
  due_at         timestamptz NOT NULL DEFAULT now(),
  -- not tried again
  dead_at        timestamptz,
  workspace_id   integer NOT NULL,
  destination_id integer NOT NULL,
  -- or the definition
  finding_id     uuid NOT NULL,
  run_id         uuid NOT NULL,
  -- a change of a tool, which is a message by itself
  is_change      boolean NOT NULL DEFAULT false,
  -- findings of one message; it does not change once the message was tried
  message_id     uuid,
  attempts       smallint NOT NULL DEFAULT 0,
  http_status    smallint,
  tried          boolean NOT NULL DEFAULT false,
  failure        text,
  PRIMARY KEY (workspace_id, destination_id, finding_id)
);
CREATE INDEX alert_outbox_due ON alert_outbox (destination_id, due_at) WHERE dead_at IS NULL;
CREATE INDEX alert_outbox_dead ON alert_outbox (workspace_id, dead_at) WHERE dead_at IS NOT NULL;

-- The last messages of a workspace, for people.
CREATE TABLE alert_deliveries (
  id             bigint GENERATED ALWAYS AS IDENTITY,
  at             timestamptz NOT NULL DEFAULT now(),
  workspace_id   integer NOT NULL,
  destination_id integer NOT NULL,
  findings       integer NOT NULL,
  attempt        smallint NOT NULL,
  http_status    smallint,
  -- of the destination, which may be removed
  name           text NOT NULL,
  message_id     text NOT NULL,
  -- incident, digest, tool_change, test
  kind           text NOT NULL,
  -- delivered, failed, dead
  outcome        text NOT NULL,
  failure        text,
  PRIMARY KEY (workspace_id, id)
);

-- E-mails that say who assigned findings to somebody, or took them away: written in the transaction of the
-- change, deleted once they are delivered. Without foreign keys, as alert_outbox.
CREATE TABLE assignment_mails (
  queued_at    timestamptz NOT NULL DEFAULT now(),
  due_at       timestamptz NOT NULL,
  workspace_id integer NOT NULL,
  -- the receiver
  user_id      integer NOT NULL,
  -- who changed the assignment
  actor_id     integer NOT NULL,
  id           uuid NOT NULL DEFAULT gen_random_uuid(),
  attempts     smallint NOT NULL DEFAULT 0,
  kind         text NOT NULL CHECK (kind IN ('assigned', 'unassigned')),
  finding_ids  uuid[] NOT NULL,
  PRIMARY KEY (workspace_id, id)
);
-- Changes that follow each other join an e-mail until its first attempt.
CREATE UNIQUE INDEX assignment_mails_untried ON assignment_mails (workspace_id, user_id, actor_id, kind)
  WHERE attempts = 0;

ALTER TABLE runs ALTER COLUMN workspace_id SET (n_distinct = -0.01);
ALTER TABLE leases ALTER COLUMN workspace_id SET (n_distinct = -0.01);
ALTER TABLE findings ALTER COLUMN workspace_id SET (n_distinct = -0.01);
ALTER TABLE finding_states ALTER COLUMN workspace_id SET (n_distinct = -0.01);
ALTER TABLE finding_history ALTER COLUMN workspace_id SET (n_distinct = -0.01);
ALTER TABLE tool_definitions ALTER COLUMN workspace_id SET (n_distinct = -0.01);
ALTER TABLE alert_outbox ALTER COLUMN workspace_id SET (n_distinct = -0.01);
