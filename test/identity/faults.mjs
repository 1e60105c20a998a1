/**
 * Loaded before a program (`node --import`): the n-th call to the file system, counted from `armFaults()` on, does
 * not return. `kill` ends the process before the call, `tear` in the middle of it, an error code makes it fail.
 *
 *   FAULT=kill:4   FAULT=tear:9   FAULT=ENOSPC:9
 *
 * `stop` halts the process before the first call of a name, until somebody continues it: FAULT=stop:linkSync
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const CALLS = [
  'mkdirSync',
  'openSync',
  'fstatSync',
  'fsyncSync',
  'closeSync',
  'readdirSync',
  'linkSync',
].concat(['rmSync', 'readFileSync', 'writeFileSync', 'renameSync']);

const [kind, at] = (process.env.FAULT ?? 'kill:0').split(':');
let isArmed = false;
let callCount = 0;
let hasStopped = false;

globalThis.armFaults = () => {
  isArmed = true;
};
/** How many calls there were, so that whoever counts up knows when to stop. */
globalThis.faultCallCount = () => callCount;

for (const name of CALLS) {
  const real = fs[name];
  fs[name] = (...args) => {
    if (isArmed && kind === 'stop' && at === name && !hasStopped) {
      hasStopped = true;
      process.kill(process.pid, 'SIGSTOP');
    }
    if (!isArmed || ++callCount !== Number(at)) return real(...args);
    if (kind === 'tear' && name === 'writeFileSync') real(args[0], args[1].slice(0, args[1].length / 2));
    if (kind === 'tear' || kind === 'kill') process.kill(process.pid, 'SIGKILL');
    throw Object.assign(new Error(`${kind}: injected into ${name}`), { code: kind });
  };
}
syncBuiltinESMExports();
