-- How many of a run's spans were sent again with the same content, by its last evaluation, which takes
-- them off `spans`: spans + repeated_spans + log_records rows are stored. Adding the column rewrites
-- nothing.

ALTER TABLE runs ADD COLUMN repeated_spans integer NOT NULL DEFAULT 0;
