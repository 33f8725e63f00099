-- Where in its run a finding is: the step by its number, source and start, the text, the range of the
-- match in the text and in the excerpt (`FindingPlace`). Contains no text. NULL for earlier findings.
ALTER TABLE findings ADD COLUMN place json;
