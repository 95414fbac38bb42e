-- The account of a run. It owns its database, and has no right over the server.
CREATE ROLE sandbox LOGIN CREATEDB CREATEROLE;
-- Scripts of pg_dump give what they make to this role, which can do nothing else.
CREATE ROLE postgres;
GRANT postgres TO sandbox;
ALTER DATABASE postgres RENAME TO sandbox;
ALTER DATABASE sandbox OWNER TO sandbox;
GRANT CREATE ON DATABASE sandbox TO postgres;
-- In databases that a program creates, and in its own.
GRANT CREATE ON SCHEMA public TO postgres;
\connect sandbox
GRANT CREATE ON SCHEMA public TO postgres;
-- Every run gets a copy of each database.
ALTER DATABASE template0 IS_TEMPLATE false;
DROP DATABASE template0;
