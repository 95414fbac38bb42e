-- Makes what a run finds: a database and an account. Runs when the image is
-- built, as root.

-- MD5 and SHA1, which lessons use, are no longer part of the server itself.
INSTALL COMPONENT 'file://component_classic_hashing';

CREATE DATABASE sandbox;

-- The rights that learners try, and the right to pass them on.
CREATE USER sandbox@localhost;
GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, ALTER, INDEX, REFERENCES,
      CREATE VIEW, SHOW VIEW, CREATE ROUTINE, ALTER ROUTINE, EXECUTE, TRIGGER,
      EVENT, CREATE TEMPORARY TABLES, LOCK TABLES, PROCESS, SHOW DATABASES,
      CREATE USER, CREATE ROLE, DROP ROLE
   ON *.* TO sandbox@localhost WITH GRANT OPTION;
GRANT FLUSH_PRIVILEGES, FLUSH_STATUS, FLUSH_TABLES, FLUSH_USER_RESOURCES,
      ROLE_ADMIN, SHOW_ROUTINE, XA_RECOVER_ADMIN
   ON *.* TO sandbox@localhost WITH GRANT OPTION;

-- Whoever writes the server's own tables could load code and grant anything.
REVOKE INSERT, UPDATE, DELETE, CREATE, DROP, ALTER, INDEX, REFERENCES,
       CREATE VIEW, CREATE ROUTINE, ALTER ROUTINE, TRIGGER, EVENT,
       LOCK TABLES
    ON mysql.* FROM sandbox@localhost;

-- Nobody administers the server of a run.
ALTER USER root@localhost ACCOUNT LOCK;
