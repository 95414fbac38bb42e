-- A small library: who has borrowed what, and how often.
SOURCE schema.sql

INSERT INTO books (title, author, details) VALUES
    ('The Left Hand of Darkness', 'Ursula K. Le Guin', '{"year": 1969, "tags": ["sf"]}'),
    ('Solaris', 'Stanisław Lem', '{"year": 1961, "tags": ["sf", "classic"]}'),
    ('Kindred', 'Octavia E. Butler', '{"year": 1979, "tags": ["sf", "history"]}'),
    ('The Master and Margarita', 'Михаил Булгаков', '{"year": 1967, "tags": ["classic"]}');

CALL borrow('Solaris', '2026-01-05');
CALL borrow('Kindred', '2026-01-19');
CALL borrow('Solaris', '2026-02-02');
CALL borrow('Solaris', '2026-03-11');

-- A window function numbers the loans of each book.
SELECT title, day, ROW_NUMBER() OVER (PARTITION BY title ORDER BY day) AS loan,
       DATEDIFF(day, LAG(day) OVER (PARTITION BY title ORDER BY day)) AS days_since
FROM loans JOIN books USING (book_id)
ORDER BY title, day;

-- A column of JSON, and a table made of it.
SELECT tag, COUNT(*) AS books, MIN(details->>'$.year') AS oldest,
       GROUP_CONCAT(author ORDER BY author SEPARATOR '; ') AS authors
FROM books, JSON_TABLE(details, '$.tags[*]' COLUMNS (tag VARCHAR(20) PATH '$')) AS t
GROUP BY tag
ORDER BY books DESC, tag;

-- A recursive query counts the loans of every month, the empty ones too.
WITH RECURSIVE months (start) AS (
    SELECT DATE '2026-01-01'
    UNION ALL
    SELECT start + INTERVAL 1 MONTH FROM months WHERE start < '2026-04-01'
)
SELECT DATE_FORMAT(start, '%M') AS month, COUNT(loan_id) AS loans, REPEAT('▇', COUNT(loan_id)) AS chart
FROM months LEFT JOIN loans ON loans.day >= start AND loans.day < start + INTERVAL 1 MONTH
GROUP BY start;
