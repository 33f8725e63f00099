-- What of a run was checked: a run without findings says little unless everything was. Null until it is
-- evaluated, and for runs that earlier versions evaluated.

ALTER TABLE runs
  -- surfaces on which its texts were; {tool_name} where the sender sends no other text
  ADD COLUMN surfaces        text[],
  -- SURFACE_CAP_BYTES at its evaluation: of `truncated_texts` texts only the beginning was matched
  ADD COLUMN text_cap_bytes  integer,
  -- values that were matched as written, because parsing them would have taken too much
  ADD COLUMN unparsed_values integer,
  -- the line of configuration or code that makes its instrumentation send text
  ADD COLUMN capture_hint    text;
