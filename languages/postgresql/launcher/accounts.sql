-- The account of a run. It owns its database, and has no right over the server.
CREATE ROLE sandbox LOGIN CREATEDB CREATEROLE;
ALTER DATABASE postgres RENAME TO sandbox;
ALTER DATABASE sandbox OWNER TO sandbox;
-- Every run gets a copy of each database.
ALTER DATABASE template0 IS_TEMPLATE false;
DROP DATABASE template0;
