/** The campaign of faults runs the same server. */
export { EtcdServer, findEtcd } from '../../src/simulation/chaos/etcd-server.ts';
