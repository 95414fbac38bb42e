-- The account of a run. It owns its database, and has no right over the server.
CREATE ROLE sandbox LOGIN CREATEDB CREATEROLE;
-- Scripts of pg_dump give what they make to this role, which can do nothing else.
CREATE ROLE postgres;
GRANT postgres TO sandbox;
ALTER DATABASE postgres OWNER TO sandbox;
GRANT CREATE ON DATABASE postgres TO postgres;
-- In databases that a program creates, and in that of the run.
GRANT CREATE ON SCHEMA public TO postgres;
\connect postgres
GRANT CREATE ON SCHEMA public TO postgres;
