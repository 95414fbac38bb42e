-- Which birds were seen how often?
\i schema.sql

INSERT INTO birds (name, legs) VALUES
    ('gull', 2), ('tern', 2), ('plover', 2);

INSERT INTO sightings
SELECT id, place, number
FROM birds JOIN (VALUES
    ('gull', 'harbour', 12), ('gull', 'beach', 5), ('tern', 'beach', 3)
) AS seen (name, place, number) USING (name);

SELECT name, count(place) AS places, coalesce(sum(number), 0) AS seen
FROM birds LEFT JOIN sightings ON bird = id
GROUP BY name
ORDER BY seen DESC;

SELECT name, string_agg(place, ', ' ORDER BY place) AS places
FROM birds LEFT JOIN sightings ON bird = id
GROUP BY name
ORDER BY name;
