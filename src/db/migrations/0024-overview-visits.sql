-- When a member last looked at the overview: it says what is new since the visit before.
ALTER TABLE memberships
  ADD COLUMN overview_seen_at timestamptz,
  -- the last look of the visit before; null on the first visit
  ADD COLUMN overview_new_since timestamptz;
