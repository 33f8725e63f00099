-- A destination that fails is left alone for a while, and a replaced key of signatures is used beside the
-- new one for two days, so that receivers can change it without losing a message.
ALTER TABLE alert_destinations
  -- messages in a row that were not delivered
  ADD COLUMN failures smallint NOT NULL DEFAULT 0,
  ADD COLUMN old_secret bytea,
  ADD COLUMN old_secret_until timestamptz,
  -- ANALYZE keeps no keys, and no paths that may be passwords.
  ALTER COLUMN secret SET STATISTICS 0,
  ALTER COLUMN old_secret SET STATISTICS 0,
  ALTER COLUMN url SET STATISTICS 0;
