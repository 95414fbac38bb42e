// Has V8 compile what every run needs of the shell, before there is a script.
// Nothing of it is evaluated, so neither the server nor the script can tell.
'use strict';

const { statements } = require('./statements');

/** Statements as scripts have them. */
const SCRIPT = `
db.books.insertMany([{ title: 'Solaris', year: 1961, tags: ['space', 'ocean'] }])
db.books.find({ year: { $lt: 1980 } }, { title: 1 }).sort({ year: -1 })
for (const { title, year } of db.books.find().toArray()) {
  print(\`\${title} is \${2026 - year} years old.\`)
}
function authors(books) { return books.map((book) => book.author) }
`;
const VALUE = { acknowledged: true, titles: ['Solaris'], year: 1961, at: new Date(0) };

/** Further ones bring little, and V8 would begin to optimize for SCRIPT. */
const ROUNDS = 3;

/** @param {import('./shell').Shell} shell */
function warmUp(shell) {
  for (let round = 0; round < ROUNDS; round += 1) {
    const parts = statements(SCRIPT, 'main.js', (word) => shell.isCommand(word));
    for (const part of parts) shell.rewritten(part);
    shell.printed(VALUE);
  }
}

module.exports = { warmUp };
