-- The tables of the library, and the way to borrow a book.
CREATE TABLE books (
    book_id INT AUTO_INCREMENT PRIMARY KEY,
    title   VARCHAR(100) NOT NULL UNIQUE,
    author  VARCHAR(100) NOT NULL,
    details JSON NOT NULL
);

CREATE TABLE loans (
    loan_id INT AUTO_INCREMENT PRIMARY KEY,
    book_id INT NOT NULL REFERENCES books (book_id),
    day     DATE NOT NULL
);

DELIMITER //
CREATE PROCEDURE borrow(wanted VARCHAR(100), day DATE)
BEGIN
    INSERT INTO loans (book_id, day)
    SELECT book_id, day FROM books WHERE title = wanted;
END //
DELIMITER ;
