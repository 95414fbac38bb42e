CREATE TABLE birds (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    legs INTEGER CHECK (legs > 0)
);

CREATE TABLE sightings (
    bird INTEGER NOT NULL REFERENCES birds,
    place TEXT NOT NULL,
    number INTEGER NOT NULL
);
