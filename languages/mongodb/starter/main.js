// A bookshop: documents in, questions asked. Every value is printed as the
// mongosh prompt prints it.
use bookshop

db.books.insertMany([
  { title: 'Kallocain', author: 'Karin Boye', year: 1940, tags: ['dystopia'] },
  { title: 'Solaris', author: 'Stanisław Lem', year: 1961, tags: ['space', 'ocean'] },
  { title: 'Fiasko', author: 'Stanisław Lem', year: 1986, tags: ['space'] },
  { title: 'Kindred', author: 'Octavia E. Butler', year: 1979, tags: ['time'] },
].map((book, i) => ({ _id: i + 1, ...book })))

// Filter, projection and order.
db.books.find({ year: { $lt: 1980 } }, { title: 1, year: 1 }).sort({ year: -1 })

db.books.updateOne({ title: 'Kindred' }, { $push: { tags: 'history' } })
db.books.findOne({ tags: 'history' })

// Books by author, by an aggregation pipeline.
const byAuthor = [
  { $group: { _id: '$author', books: { $sum: 1 }, first: { $min: '$year' } } },
  { $sort: { books: -1, first: 1 } },
]
db.books.aggregate(byAuthor)

db.books.createIndex({ author: 1, year: 1 })
show collections

// Ordinary JavaScript, and no `await` anywhere.
for (const { title, year } of db.books.find({ tags: 'space' }).toArray()) {
  print(`${title} is ${2026 - year} years old.`)
}
