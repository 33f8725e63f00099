/**
 * Runs commands of `sluice` one after another in one process, so that their modules are loaded once:
 * that takes a third of a second of CPU time, most commands less than a tenth of it. Each command has
 * its own arguments, environment, folder and standard streams, and runs dist/cli.js from the top.
 *
 * A command has ended when a process of its own would have: nothing keeps the event loop alive, or
 * `process.exit` was called. What is only true of a process (signals, closed pipes, exit by Node.js)
 * is tested with processes: `runProcess` in command.ts, which starts this one and sends it requests.
 */
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 5;
const REST_MS = 100;
const home = process.cwd();
const inputFolder = mkdtempSync(join(tmpdir(), 'sluice-input-'));
process.once('disconnect', () => {
  rmSync(inputFolder, { recursive: true, force: true });
  process.reallyExit(0);
});

/** What ends a command that calls `process.exit`. */
class Exited extends Error {}

/** Whether nothing but the channel to the tests keeps this process alive. */
const isAtRest = () => process.getActiveResourcesInfo().join() === 'PipeWrap';
let commands = 0;

/** A standard stream that hands on what is written to it. */
function streamTo(send) {
  return new Writable({
    decodeStrings: false,
    write: (chunk, _encoding, done) => {
      send(chunk.toString());
      done();
    },
  });
}

function replace(name, value) {
  Object.defineProperty(process, name, { value, configurable: true, writable: true });
}

/** Standard input is read by its number: 0 is the lowest, so the next file opened gets it. */
function setInput(text) {
  const path = join(inputFolder, 'input');
  writeFileSync(path, text);
  closeSync(0);
  openSync(path);
}

const untilAtRest = () =>
  new Promise((resolve) => {
    const look = () => (isAtRest() ? resolve() : setTimeout(look, POLL_MS).unref());
    look();
  });

/** After `process.exit`: what the command has begun may end by itself. */
const isAtRestSoon = () =>
  Promise.race([untilAtRest().then(() => true), sleep(REST_MS, false, { ref: false })]);

async function run({ args, env, cwd, input }) {
  let exitCode;
  for (const name of ['stdout', 'stderr']) {
    const send = (text) => exitCode === undefined && process.send({ name, text });
    replace(name, streamTo(send));
  }
  const exited = new Promise((resolve) => {
    process.exit = (code) => {
      exitCode ??= code ?? process.exitCode ?? 0;
      resolve();
      throw new Exited();
    };
  });
  process.argv = [process.execPath, 'sluice', ...args];
  process.env = env;
  process.exitCode = undefined;
  process.chdir(cwd ?? home);
  setInput(input ?? '');
  commands += 1;
  // Another address, so that it runs again; what it imports is loaded already.
  const ended = import(`../../dist/cli.js?command=${commands}`).then(untilAtRest);
  await Promise.race([ended, exited]);
  exitCode ??= process.exitCode ?? 0;
  process.chdir(home);
  process.send({ code: exitCode, isReusable: await isAtRestSoon() });
}

process.on('uncaughtException', (error) => {
  if (error instanceof Exited) return;
  process._rawDebug(error);
  process.reallyExit(1);
});
process.on('message', (request) => void run(request));
