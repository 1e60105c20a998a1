/** The ways in for admins of a shard process (H1): a socket in its data directory, and the operators' port. */
import { adminServiceOf, type ServedService } from '../admin/service.ts';
import { AdminSocketServer } from '../admin/socket-server.ts';
import { ShardError } from '../base/errors.ts';
import type { AdminFolder } from '../identity/admin-folder.ts';
import { ControlRefusedError } from '../shard/controls/control.ts';
import type { AdminPort } from '../shard/ports/controls.ts';
import type { WhatIfPort } from '../shard/ports/what-if.ts';
import { whyNotAdmin } from '../tls/identity.ts';
import type { Closer, ServiceOptions } from './shard-parts.ts';

/** Of a data directory: where the socket of admins is. */
export interface AdminHome {
  openAdminFolder(): AdminFolder;
}

const IS_STANDBY = 'This replica is a standby and decides nothing.';
const ASK_ACTIVE = 'flotilla top shows which one it is.';

/** What admins reach. */
export interface AdminParts {
  readonly admin: AdminPort;
  readonly whatIf: WhatIfPort;
}

/** The admin of the present term. A standby decides nothing, so there is nothing to command. */
export class PresentAdmin implements AdminPort {
  #admin: AdminPort | null = null;
  #warning: () => string = () => '';

  begin(admin: AdminPort, warning = () => ''): void {
    this.#admin = admin;
    this.#warning = warning;
  }

  warning(): string {
    return this.#admin === null
      ? `${IS_STANDBY} The controls of the active replica are in force; ${ASK_ACTIVE}`
      : this.#warning();
  }

  async pause(command: Parameters<AdminPort['pause']>[0]) {
    return this.#active().pause(command);
  }

  async resume(command: Parameters<AdminPort['resume']>[0]) {
    return this.#active().resume(command);
  }

  async confirmRemoval(command: Parameters<AdminPort['confirmRemoval']>[0]) {
    return this.#active().confirmRemoval(command);
  }

  async order(command: Parameters<AdminPort['order']>[0]) {
    return this.#active().order(command);
  }

  controls() {
    return this.#admin?.controls() ?? [];
  }

  #active(): AdminPort {
    if (this.#admin !== null) return this.#admin;
    throw new ControlRefusedError(IS_STANDBY, `Give the command to the active replica: ${ASK_ACTIVE}`);
  }
}

/** H1: a shard without this socket runs all the same; its admins must use another way in, or its configuration. */
export async function startAdminSocket(
  { config, log }: ServiceOptions,
  home: AdminHome,
  { admin, whatIf }: AdminParts,
): Promise<Closer | null> {
  try {
    const folder = home.openAdminFolder();
    const service = adminServiceOf({
      shardId: config.id,
      admin,
      whatIf,
      admit: () => ({ via: 'socket' }),
      onRefused: () => {},
    });
    const server = await AdminSocketServer.listen(folder.socketPath, service);
    return async () => {
      await server.close();
      folder.close();
    };
  } catch (error) {
    if (!(error instanceof ShardError)) throw error;
    log.error('admin_socket_missing', {
      detail: error.message,
      next: 'the shard runs, and no command reaches it by its socket',
    });
    return null;
  }
}

/** H1: the operators' port, for certificates of admins. */
export function adminOverTls({ config, log }: ServiceOptions, { admin, whatIf }: AdminParts): ServedService {
  return adminServiceOf({
    shardId: config.id,
    admin,
    whatIf,
    admit: (call) => {
      const refusal = whyNotAdmin(call);
      const { fingerprint256 = '' } = call.getAuthContext().sslPeerCertificate ?? {};
      return refusal === null ? { via: `certificate ${fingerprint256}` } : { refusal };
    },
    onRefused: (peer, detail) => log.warn('admin_refused', { peer, detail }),
  });
}
