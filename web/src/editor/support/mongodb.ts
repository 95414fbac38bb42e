// The methods of databases, collections and cursors in mongosh, and the
// operators of queries.
import type { Completion, CompletionSource } from "@codemirror/autocomplete";
import { javascriptLanguage } from "@codemirror/lang-javascript";

import { isWelcome } from "../completion";

const DATABASE =
  "createCollection getCollection getCollectionNames dropDatabase createView runCommand stats getName getSiblingDB aggregate";
const COLLECTION =
  "find findOne insertOne insertMany updateOne updateMany replaceOne deleteOne deleteMany aggregate countDocuments " +
  "estimatedDocumentCount distinct createIndex getIndexes dropIndex drop bulkWrite findOneAndUpdate findOneAndDelete " +
  "findOneAndReplace renameCollection explain";
const CURSOR =
  "sort limit skip toArray forEach map count project projection hasNext next pretty explain hint collation size itcount";
const OPERATORS =
  "$match $group $project $sort $limit $skip $unwind $lookup $addFields $set $unset $count $facet $bucket $out $merge " +
  "$sum $avg $min $max $first $last $push $addToSet $pull $pop $inc $mul $rename $each $eq $ne $gt $gte $lt $lte $in " +
  "$nin $and $or $not $nor $exists $type $regex $expr $all $elemMatch $size $cond $ifNull $concat $map $filter $reduce " +
  "$replaceRoot $sortByCount $setOnInsert $setWindowFields";

const methods = (words: string) => words.split(" ").map((label): Completion => ({ label, type: "method" }));
const [ofDatabase, ofCollection, ofCursor] = [methods(DATABASE), methods(COLLECTION), methods(CURSOR)];

/** After a dot, depending on the expression before it. */
const members: CompletionSource = (context) => {
  const before = context.matchBefore(/[\w$)\]"'.]+\.\w*/);
  if (before === null || !isWelcome(context, before.from)) return null;
  const from = before.from + before.text.lastIndexOf(".") + 1;
  const owner = before.text.slice(0, before.text.lastIndexOf("."));
  const validFor = /^\w*$/;
  if (owner === "db") {
    const text = context.state.sliceDoc();
    const names = [...text.matchAll(/\bdb\.(\w+)\./g), ...text.matchAll(/Collection\(\s*["'](\w+)["']/g)];
    const collections = new Set(names.map(([, name = ""]) => name));
    const options = [...collections].map((label): Completion => ({ label, type: "variable" }));
    return { from, options: [...options, ...ofDatabase], validFor };
  }
  if (/^db\.\w+$/.test(owner)) return { from, options: ofCollection, validFor };
  return owner.endsWith(")") ? { from, options: [...ofCursor, ...ofCollection], validFor } : null;
};

const operators: CompletionSource = (context) => {
  const word = context.matchBefore(/\$\w*/);
  if (word === null) return null;
  const options = OPERATORS.split(" ").map((label): Completion => ({ label, type: "keyword" }));
  return isWelcome(context, word.from - 1) ? { from: word.from, options, validFor: /^\$\w*$/ } : null;
};

export const support = () =>
  [members, operators].map((autocomplete) => javascriptLanguage.data.of({ autocomplete }));
