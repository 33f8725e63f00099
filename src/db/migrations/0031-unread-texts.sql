-- Text of a run that no convention reads. Null until it is evaluated, and for runs that earlier versions evaluated.

ALTER TABLE runs
  -- attributes with such text
  ADD COLUMN unread_texts integer,
  -- the keys of the first of them
  ADD COLUMN unread_keys  text[];
