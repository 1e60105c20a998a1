/**
 * Preload of a shard process in which needs with certain requirements make the decision throw. No file changes: the hook
 * changes the compiled module in memory. `throws` has a known need; `throws-nameless` throws as if there were none.
 */
import { register } from 'node:module';

const find = "this.#cycle.probe?.('acquire', this.#needs.cluster[need]);";
const replace = `
  const injected = this.#profiles.get(this.#needs.profile[need]).requirements[0]?.key;
  if (injected === 'hostile.example/throws-nameless') this.#cycle.need = -1;
  if (injected?.startsWith('hostile.example/throws')) throw new Error('injected');`;

register('../simulation/virtual-time/mutate-hooks.mjs', import.meta.url, {
  data: { file: 'decision/assign/acquire.js', find, replace },
});
