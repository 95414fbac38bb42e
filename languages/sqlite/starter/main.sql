-- Which birds were seen how often?
.read schema.sql

INSERT INTO birds (name, legs) VALUES
    ('gull', 2), ('tern', 2), ('plover', 2);

INSERT INTO sightings (bird, place, number) VALUES
    (1, 'harbour', 12), (1, 'beach', 5), (2, 'beach', 3);

SELECT name, count(place) AS places, total(number) AS seen
FROM birds LEFT JOIN sightings ON sightings.bird = birds.id
GROUP BY birds.id
ORDER BY seen DESC;

SELECT name, place
FROM birds LEFT JOIN sightings ON sightings.bird = birds.id
ORDER BY name, place;
