-- Run once, when the volume of PostgreSQL is made. Sluice's role is no superuser, and the superuser can
-- only log in inside the container: docker compose exec postgres psql -U postgres
\getenv password POSTGRES_PASSWORD
CREATE ROLE sluice LOGIN PASSWORD :'password';
CREATE DATABASE sluice OWNER sluice;
ALTER ROLE CURRENT_USER PASSWORD NULL;
