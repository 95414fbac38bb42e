// Stands in the bundle for what only a terminal needs: completion, colours.
'use strict';

module.exports = {};
