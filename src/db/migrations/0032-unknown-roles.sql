-- Roles of messages that are in no known word. Null until a run is evaluated, and for runs that earlier versions evaluated.

ALTER TABLE runs ADD COLUMN unknown_roles text[];
