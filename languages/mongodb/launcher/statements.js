// Takes a mongosh script apart into what a user would enter at the prompt, one
// after the other: statements of JavaScript, and commands such as `use shop`.
'use strict';

const { parse } = require('@babel/parser');
const { codeFrameColumns } = require('@babel/code-frame');

// The value of a declaration at the prompt is of no interest in a script.
const DECLARATIONS = new Set([
  'ClassDeclaration', 'FunctionDeclaration', 'VariableDeclaration',
]);

/**
 * The parts of a script in the order in which they are evaluated: functions
 * first, as JavaScript hoists them. `line` and `column` count from 1 and 0.
 *
 * @param {string} text
 * @param {string} name of the file, for messages
 * @param {(word: string) => boolean} isCommand whether the shell has a command
 *   of this name that takes its arguments without parentheses
 * @returns {{text: string, line: number, column: number, isSilent: boolean}[]}
 * @throws {SyntaxError} with the place and the lines around it
 */
function statements(text, name, isCommand) {
  const commands = new Map();
  let blanked = text;
  for (;;) {
    const { nodes, errors } = attempt(blanked);
    const found = errors
      .map((error) => commandAt(text, error.loc, isCommand))
      .filter((command) => command && !commands.has(command.start));
    if (found.length === 0) {
      if (errors.length > 0) throw explained(errors[0], text, name);
      return inOrder(nodes, text, commands, name, isCommand);
    }
    for (const command of found) commands.set(command.start, command);
    blanked = blank(text, commands);
  }
}

/** Parses as far as possible. */
function attempt(text) {
  const options = {
    // As mongosh's own parser is set up.
    sourceType: 'script',
    allowAwaitOutsideFunction: true,
    errorRecovery: true,
    attachComment: false,
  };
  try {
    const { program, errors } = parse(text, options);
    return { nodes: [...program.directives, ...program.body], errors };
  } catch (error) {
    if (!error.loc) throw error;
    return { nodes: [], errors: [error] };
  }
}

/**
 * The command in the line of a syntax error, if there is one. JavaScript has
 * no statement of two words if the first is a name of ours.
 */
function commandAt(text, { index }, isCommand) {
  const lineStart = text.lastIndexOf('\n', index - 1) + 1;
  const rest = text.slice(lineStart);
  const match = /^([^\S\n]*)([A-Za-z]+)[^\S\n]+(?![\s(=.])[^\n;]*/.exec(rest);
  if (!match || !isCommand(match[2])) return null;
  const command = match[0].slice(match[1].length);
  return {
    start: lineStart + match[1].length,
    text: command.replace(/(^|\s)\/\/.*$/, '').trimEnd(),
    length: command.length,
    error: new SyntaxError('Missing semicolon.'),
  };
}

/**
 * The text with an empty block in place of each command: one that ends the
 * statement before it as the command does.
 */
function blank(text, commands) {
  const parts = [];
  let end = 0;
  const inText = (a, b) => a.start - b.start;
  for (const { start, length } of [...commands.values()].sort(inText)) {
    parts.push(text.slice(end, start), '{}', ' '.repeat(length - 2));
    end = start + length;
  }
  return parts.join('') + text.slice(end);
}

function inOrder(nodes, text, commands, name, isCommand) {
  const parts = [];
  const functions = [];
  const unused = new Map(commands);
  for (const node of nodes) {
    const { line, column } = node.loc.start;
    const part = { line, column, isSilent: DECLARATIONS.has(node.type) };
    part.text = text.slice(node.start, node.end);
    const command = unused.get(node.start);
    if (command) {
      unused.delete(node.start);
      part.text = command.text;
    } else if (node.type === 'ExpressionStatement'
      && node.expression.type !== 'Identifier' && isCommand(firstWord(part))) {
      // At the prompt this would be read as a command and its arguments.
      part.text = `(${part.text.replace(/;$/, '')}\n)`;
      part.column -= 1;
    }
    (node.type === 'FunctionDeclaration' ? functions : parts).push(part);
  }
  // A command within a function or an expression is none.
  for (const { start, error } of unused.values()) {
    const before = text.slice(0, start).split('\n');
    error.loc = { line: before.length, column: before.at(-1).length };
    throw explained(error, text, name);
  }
  return [...functions, ...parts];
}

function firstWord(part) {
  return part.text.split(/\s/, 1)[0];
}

/** The error as mongosh words it, with the name of the file. */
function explained(error, text, name) {
  const { line, column } = error.loc;
  const reason = error.message.replace(/ \(\d+:\d+\)$/, '');
  const frame = codeFrameColumns(text, { start: { line, column: column + 1 } });
  const message = `${name}: ${reason} (${line}:${column})\n\n${frame}`;
  return Object.assign(new SyntaxError(message), { stack: '' });
}

module.exports = { statements };
