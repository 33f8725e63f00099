-- How long matching each rule took on this server's threads, sampled, by day (UTC). It is about rules and not
-- about anybody's data: at most one row for a rule and day, of thirty days.
CREATE TABLE rule_costs (
  day      date NOT NULL,
  rule_id  text NOT NULL,
  -- sampled: how often the rule was searched for in texts, and how long that took
  searches bigint NOT NULL,
  micros   float8 NOT NULL,
  PRIMARY KEY (day, rule_id)
);
