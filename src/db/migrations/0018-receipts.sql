-- What requests stored within the last hour, by the hash of their bodies, so that a request that is
-- sent again is answered as before and stored once (docs/decisions/0029-stored-once.md).
--
-- A receipt is a row of the period in which its request arrived, and in the first hour of a period
-- another of the period before: two requests less than an hour apart then have one in common, which
-- the primary key refuses, even while the other request is still being stored.
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
