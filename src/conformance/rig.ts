/** Everything that a check may use, made once per run. */
import type { ConfigureParameters, ProviderClient } from './client.ts';
import type { Custody } from './custody.ts';
import type { Driver } from './driver.ts';
import type { MachinePool } from './machine-pool.ts';
import type { Stray } from './put-back.ts';
import type { Settings } from './settings.ts';
import type { Sightings } from './sightings.ts';

export interface Rig {
  readonly settings: Settings;
  /** Plain calls, for those that may be refused. */
  readonly client: ProviderClient;
  /** Calls that must succeed, and complete transitions. */
  readonly driver: Driver;
  readonly pool: MachinePool;
  readonly custody: Custody;
  readonly sightings: Sightings;
  /** Machines that could not be put back; filled before the closing checks run. */
  readonly strays: Stray[];
}

/**
 * Machines are configured with these unless a check says otherwise. A provider that trims, normalises,
 * parses or re-encodes would change at least one of the values.
 */
export const USUAL_BINDING: ConfigureParameters = {
  cluster: 'conformance.cluster_A:1/blue@test',
  shardMetadata: {
    'bigfleet.lucy.sh/assigned-priority': '-0042',
    'bigfleet.lucy.sh/assigned-interruption-penalty-dollars': '8.388608e+06',
    'bigfleet.lucy.sh/assigned-reclamation-penalty-dollars': '+Inf',
    'bigfleet.lucy.sh/assigned-need-fingerprint': 'p=100|ipb=3|rpb=27|reqs=zone:1:a,b;|spr=',
    'bigfleet.lucy.sh/assigned-group': '', // an empty value must come back, too
    'conformance.example/blanks': '  \t kept at both ends \r\n',
    'conformance.example/Case': 'MiXeD',
    'conformance.example/composed': '\u00e9', // é as one code point …
    'conformance.example/decomposed': 'e\u0301', // … and as two code points, which look the same
    'conformance.example/astral': '\u{1f6a2}\u{10ffff}',
    'conformance.example/markup': '<a href="x">&amp;</a> {"json": [1, null]} %20 \\n',
    'conformance.example/control': 'a\u0000b\u0001c\u007fd',
  },
};
