/**
 * What fold groups ask of the free machines (A1), because their own do not hold all of their gangs: how many of mine would
 * you hold? Under churn many groups ask, in every cycle, and many the same: a question is a filter and a gang's
 * aggregate, and only if its answer moved is anybody who asked it looked at.
 */

import type { Filter } from '../supply/filters.ts';
import type { ClusterState } from './cluster-state.ts';

/** One group that asks. */
export interface Asker {
  readonly cluster: ClusterState;
  readonly group: number;
  readonly question: Question;
  /** For how many gangs, and how many of them the free machines held. */
  readonly wanted: number;
  readonly answer: number;
}

export interface Question {
  /** Null: rows of the group ask with several filters; always looked at. */
  readonly fit: Filter | null;
  readonly aggregate: number;
  readonly askers: Set<Asker>;
  /** What was answered last: gangs on all free machines; NaN = askers were told different things. */
  gangs: number;
}

const AGGREGATES_MAX = 2 ** 26;

export class FreeAsks {
  /** By filter and aggregate. */
  readonly #questions = new Map<number, Question>();

  questions(): Iterable<Question> {
    return this.#questions.values();
  }

  /** The group asks this from now on, and was told that there is room for so many gangs. */
  ask(
    cluster: ClusterState,
    group: number,
    fit: Filter | null,
    aggregate: number,
    wanted: number,
    gangs: number,
  ): void {
    const before = cluster.asking.get(group);
    const key = (fit?.id ?? 0) * AGGREGATES_MAX + aggregate;
    let question = this.#questions.get(key);
    if (question === undefined) {
      question = { fit, aggregate, askers: new Set(), gangs };
      this.#questions.set(key, question);
    } else if (question.gangs !== gangs) question.gangs = Number.NaN;
    const asker = { cluster, group, question, wanted, answer: Math.min(wanted, gangs) };
    question.askers.add(asker);
    cluster.asking.set(group, asker);
    if (before !== undefined) this.#leave(before); // last: a question that goes on keeps its place while all are looked at
  }

  end(cluster: ClusterState, group: number): void {
    const asker = cluster.asking.get(group);
    if (asker === undefined) return;
    cluster.asking.delete(group);
    this.#leave(asker);
  }

  /** The cluster's groups are others from now on. */
  endAll(cluster: ClusterState): void {
    for (const asker of cluster.asking.values()) this.#leave(asker);
    cluster.asking.clear();
  }

  #leave(asker: Asker): void {
    const { question } = asker;
    question.askers.delete(asker);
    if (question.askers.size === 0)
      this.#questions.delete((question.fit?.id ?? 0) * AGGREGATES_MAX + question.aggregate);
  }
}
