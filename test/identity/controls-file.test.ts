/** H1, H2: the controls and the folder of the admin socket in a data directory. */
import { chmodSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openDataDirectory } from '../../src/identity/data-directory.ts';
import { temporaryDirectory } from './fixture.ts';

describe('the controls of a data directory', () => {
  it('H2: are read as they were written, by the next process too', async () => {
    const path = temporaryDirectory();
    const first = await openDataDirectory({ path });
    expect(first.readControls()).toBeNull();
    first.writeControls('{"a":"ü"}');
    await first.close();
    const second = await openDataDirectory({ path });
    expect(second.readControls()).toBe('{"a":"ü"}');
    await second.close();
  });

  it('H2: cut or edited files are refused', async () => {
    const path = temporaryDirectory();
    const data = await openDataDirectory({ path });
    data.writeControls('{"controls":[1,2,3]}');
    const file = join(path, 'controls');
    const whole = readFileSync(file, 'utf8');
    for (let length = 0; length < whole.length; length++) {
      writeFileSync(file, whole.slice(0, length));
      expect(() => data.readControls(), `${length} bytes`).toThrow('A pause may have been in force');
    }
    writeFileSync(file, whole.replace('1', '9'));
    expect(() => data.readControls()).toThrow('not what a shard wrote');
    await data.close();
  });

  it('H1: the folder of the socket is for the owner alone, whatever it was, and no link is followed', async () => {
    const path = temporaryDirectory();
    const data = await openDataDirectory({ path });
    mkdirSync(join(path, 'admin'));
    chmodSync(join(path, 'admin'), 0o777);
    writeFileSync(join(path, 'admin', 'socket'), 'of a dead process');
    const folder = data.openAdminFolder();
    expect(statSync(folder.path).mode & 0o777).toBe(0o700);
    expect(folder.hasSocket).toBe(false);
    folder.close();
    await data.close();
    const other = temporaryDirectory();
    symlinkSync(join(path, 'admin'), join(other, 'admin'));
    const linked = await openDataDirectory({ path: other });
    expect(() => linked.openAdminFolder()).toThrow('not a directory');
    await linked.close();
  });
});
