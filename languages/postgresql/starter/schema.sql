CREATE TABLE birds (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE,
    legs integer CHECK (legs > 0)
);

CREATE TABLE sightings (
    bird integer NOT NULL REFERENCES birds,
    place text NOT NULL,
    number integer NOT NULL
);
