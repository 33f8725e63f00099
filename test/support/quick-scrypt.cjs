/**
 * Makes scrypt of the cost that passwords have (a quarter of a second of CPU time each) one of the least
 * cost, in a process of the tests. Everything else is the same: salts, parameters, the stored form.
 * All processes that share a database must do it, so servers and commands of a run preload this.
 */
const crypto = require('node:crypto');
const { syncBuiltinESMExports } = require('node:module');

const COST_MAX = 16;
const { scrypt } = crypto;

const quickScrypt = (password, salt, length, options, done) =>
  scrypt(password, salt, length, { ...options, N: Math.min(options.N, COST_MAX) }, done);

/** @param {boolean} isQuick false: as Node.js has it */
function setQuickScrypt(isQuick) {
  crypto.scrypt = isQuick ? quickScrypt : scrypt;
  syncBuiltinESMExports();
}

setQuickScrypt(true);
module.exports = { setQuickScrypt };
