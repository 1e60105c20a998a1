/** The help of `flotilla provider`. */
import { CATALOGUES } from '../catalogue/catalogue.ts';
import { CONFIGURED_SHARE_MAX, DEFAULT_PLAN } from './generate.ts';
import { INTERRUPTION_OUTCOMES } from './settings.ts';

export const HELP = `Usage: flotilla provider [options]

Serves a simulated fleet as a capacity provider over gRPC until it receives SIGINT or SIGTERM.

  --listen HOST:PORT           address to listen on; port 0 selects an unused port (127.0.0.1:7790)
  --insecure                   allow an address beyond loopback without TLS
  --tls-cert, --tls-key, --tls-ca FILE   mutual TLS: all three or none
  --name NAME                  provider name in every host reference (simulated)
  --seed N                     the same seed gives the same fleet and the same random events (1)
  --help                       print this help and exit

The fleet
  --machines N                 number of machines (${DEFAULT_PLAN.machineCount})
  --catalogue NAME             ${Object.keys(CATALOGUES).join(' or ')} (realistic)
  --configured SHARE           share of the machines that start as nodes of clusters, 0.9 or 90% (${DEFAULT_PLAN.configuredShare}; at most ${CONFIGURED_SHARE_MAX})
  --idle SHARE                 share that starts Idle (${DEFAULT_PLAN.idleShare}, or 40% of those not configured); the others start Speculative
  --clusters N                 number of clusters that share the machines (one for every ${DEFAULT_PLAN.machinesPerCluster}); flotilla operators
                               with the same --clusters, --machines and --seed asks for exactly these machines
  --machines-per-cluster N     average machines per cluster, instead of --clusters (${DEFAULT_PLAN.machinesPerCluster})
  --memory-in UNIT             write memory in Ki, Mi or Gi, such as 1024Gi (the largest unit that gives a whole number: 1Ti)
  --state FILE                 keep machines, bindings, operations and fence marks in FILE, and continue from it after a
                               restart with the same flags; survives a killed process, not a power cut (no file)
  --quota TYPE/ZONE/HOW=N      at most N machines of an offering; HOW is bare-metal, reserved, on-demand or spot

Operations (each flag applies to all, or with create=, configure=, drain= or delete= to one)
  --latency MEAN[/P99]         time until an operation finishes, such as 2s/10s (at once)
  --fail PROBABILITY           the operation ends in FAILED
  --hang PROBABILITY           the operation never ends
  --transition-timeout TIME    the provider gives an operation up that has not ended by then: it ends in FAILED (never)
  --silence PROBABILITY        the operation is carried out, but the call gets no answer
  --unsupported OPERATION      the provider answers with UNIMPLEMENTED
  --answer-after MEAN[/P99]    time until the provider answers a call, as if it answered only when done (at once)

Faults, which show after the ack
  --fault RULE                 the selected operations end otherwise; may be repeated, the first rule that applies counts.
                               RULE is OPERATION[,cluster=NAME][,type=TYPE][,share=SHARE][,end=HOW][,after=TIME][,need=TEXT]
    cluster=, need=            only configure and drain; TEXT, which comes last, is a group or part of a fingerprint
    type=                      only machines of this instance type
    share=                     share of the selected operations that end so (1)
    end=                       failed, undone (the machine is back in its former state), gone (the machine is removed)
                               or never (with configure: the node never becomes ready) (failed)
    after=                     time from the ack to the end (the operation's latency)

Listings
  --no-cursors                 every List returns all machines
  --shuffle-listings           the machines of every listing are in another order
  --no-deleted-ids             listings do not name removed machines

Random events
  --interruptions FACTOR       spot machines are lost at FACTOR × their interruption probability per hour (0)
  --interruption-outcome HOW   what a lost machine becomes: ${INTERRUPTION_OUTCOMES.join(', ')} (failed)
  --vanishing-per-hour SHARE   share of all machines that disappear per hour (0)
  --price-changes-per-hour N   price changes of each offering per hour (0)
  --repair-after DURATION      time until a FAILED machine is Speculative again (never)

Examples:
  flotilla provider
  flotilla provider --machines 500000 --configured 90% --latency 2s/10s --fail create=0.01 --interruptions 1
  flotilla provider --latency 1s --fault configure,cluster=cluster-0001,share=50% --fault drain,end=never
  flotilla provider --quota gpu-train-8/eu-north-1a/reserved=4

The first line is "listening on HOST:PORT". Exit code: 0 after a signal, 1 if the state file cannot be written
any more, 2 for wrong usage, an address in use or a damaged state file.
`;
