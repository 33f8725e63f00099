-- How documents that do not fit into a row are kept, from here on: rows that are stored stay as they
-- are, so this takes no longer on a large table. PostgreSQL's own way, pglz, compresses 25 MB a second
-- and holds up ingest; lz4 gives nearly as much at five times the speed, but is a matter of how the
-- server was built. Without it long documents are not compressed (docs/decisions/0010-storage.md).
--
-- Partitions made later take this over from their parents, all but toast_tuple_target, which a
-- partitioned table cannot have: src/db/partitions.ts sets it.

DO $$
DECLARE
  how text := CASE WHEN EXISTS (
      SELECT FROM pg_settings WHERE name = 'default_toast_compression' AND 'lz4' = ANY (enumvals)
    ) THEN 'ALTER COLUMN %1$I SET STORAGE EXTENDED, ALTER COLUMN %1$I SET COMPRESSION lz4'
      ELSE 'ALTER COLUMN %1$I SET STORAGE EXTERNAL' END;
  one record;
BEGIN
  FOR one IN
    SELECT tree.relid::regclass AS name, tree.isleaf AS is_day,
           string_agg(format(how, attname), ', ' ORDER BY attnum) AS changes
      FROM unnest(ARRAY['spans', 'log_records', 'metric_points']) AS parent
     CROSS JOIN LATERAL pg_partition_tree(parent::regclass) AS tree
      JOIN pg_attribute ON attrelid = tree.relid AND atttypid = 'json'::regtype AND NOT attisdropped
     GROUP BY tree.relid, tree.isleaf, tree.level
     ORDER BY tree.level, tree.relid
  LOOP
    EXECUTE format('ALTER TABLE ONLY %s %s', one.name, one.changes);
    IF one.is_day THEN
      EXECUTE format('ALTER TABLE %s SET (toast_tuple_target = 4080)', one.name);
    END IF;
  END LOOP;
END
$$;
