/** H9: what the disruption budgets used, in a data directory. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openDataDirectory } from '../../src/identity/data-directory.ts';
import { temporaryDirectory } from './fixture.ts';

describe('the use of budgets in a data directory', () => {
  it('H9: is read as it was written, by the next process too, and cut or edited files are found out', async () => {
    const path = temporaryDirectory();
    const first = await openDataDirectory({ path });
    expect(first.readUsage()).toBeNull();
    first.writeUsage('{"a":[1,2,3]}');
    await first.close();
    const second = await openDataDirectory({ path });
    expect(second.readUsage()).toBe('{"a":[1,2,3]}');
    const file = join(path, 'usage');
    const whole = readFileSync(file, 'utf8');
    for (let length = 0; length < whole.length; length++) {
      writeFileSync(file, whole.slice(0, length));
      expect(() => second.readUsage(), `${length} bytes`).toThrow('The shard cannot trust');
    }
    writeFileSync(file, whole.replace('1,2', '9,2'));
    expect(() => second.readUsage()).toThrow('not what a shard wrote');
    await second.close();
  });
});
