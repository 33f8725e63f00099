/**
 * Loaded into every thread of a server by NODE_OPTIONS: a thread that takes requests throws once the
 * file named by SLUICE_TEST_FAIL_FILE is there. The other threads of the process do nothing.
 */
const { existsSync } = require('node:fs');

const file = process.env.SLUICE_TEST_FAIL_FILE;
const timer = setInterval(() => {
  // What a thread runs is not known yet when this file is loaded.
  if (file === undefined || !existsSync(file)) return;
  clearInterval(timer);
  if (process.argv[1]?.endsWith('acceptor-thread.js')) throw new Error('made to fail');
}, 20);
timer.unref();
