-- An exception hides a finding only if it covers every distinct match of the rule in the run
-- (docs/decisions/0036-triage-and-exceptions.md).

-- Of the stored places: what exceptions compare. One that stands for others has neither. A tool's name on
-- its own surface is matched text, and compared as that.
CREATE FUNCTION place_digests(places jsonb) RETURNS bytea[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT array_agg(CASE WHEN NOT (place->>'rest')::boolean THEN decode(place->>'digest', 'hex') END
                   ORDER BY number)
    FROM jsonb_array_elements(places) WITH ORDINALITY AS own (place, number)
$$;
CREATE FUNCTION place_tools(places jsonb) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT array_agg(CASE WHEN NOT (place->>'rest')::boolean AND place->>'surface' <> 'tool_name'
                        THEN place->>'tool' END ORDER BY number)
    FROM jsonb_array_elements(places) WITH ORDINALITY AS own (place, number)
$$;

ALTER TABLE findings
  -- the matches after the first, at most 21: what the finding's columns say of the first one, with its
  -- digest. Null for a finding with one. The last one may stand for further ones (`rest`).
  ADD COLUMN more_places jsonb,
  ADD COLUMN more_digests bytea[],
  ADD COLUMN more_tools text[],
  -- as with excerpts (0003): ANALYZE keeps no values of it
  ALTER COLUMN more_places SET STATISTICS 0;

CREATE FUNCTION findings_places() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.more_digests := place_digests(NEW.more_places);
  NEW.more_tools := place_tools(NEW.more_places);
  RETURN NEW;
END $$;
CREATE TRIGGER findings_places BEFORE INSERT OR UPDATE OF more_places ON findings
  FOR EACH ROW WHEN (NEW.more_places IS NOT NULL) EXECUTE FUNCTION findings_places();

-- `match`: the text, tool, agent and service of a finding together.
ALTER TABLE finding_exceptions
  ADD COLUMN agent_name   text,
  ADD COLUMN service_name text,
  ADD COLUMN tool_name    text,
  DROP CONSTRAINT finding_exceptions_scope_check,
  DROP CONSTRAINT finding_exceptions_check,
  ADD CHECK (scope IN ('match', 'text', 'tool', 'agent', 'service')),
  ADD CHECK ((match_digest IS NOT NULL) = (scope IN ('match', 'text'))
             AND (name IS NULL) = (scope IN ('match', 'text'))
             AND (scope = 'match' OR num_nulls(agent_name, service_name, tool_name) = 3));
