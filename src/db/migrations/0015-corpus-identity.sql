-- The identity of the corpus with which a run was evaluated (`corpusIdentity`): package archive and reviewed
-- file list together, 20 bytes. NULL for runs and findings of earlier versions, which stored the
-- corpus's version only.

ALTER TABLE runs ADD COLUMN corpus_identity bytea;
ALTER TABLE findings ADD COLUMN corpus_identity bytea;
