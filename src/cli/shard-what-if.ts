/** What-if questions to the shard of the present term (Y4), and the settings that they change. */
import { flagOf, InvalidValueError, type Setting } from '../config/setting.ts';
import { SHARD_SETTINGS } from '../config/shard-settings.ts';
import type { PreemptionWeights } from '../decision/preempt/victim-lists.ts';
import type { WhatIfPort } from '../shard/ports/what-if.ts';
import type { Shard } from '../shard/shard.ts';
import { tenantLimits } from '../shard/tenants.ts';
import { quoted, refuse, type WhatIfSettings } from '../shard/what-if/question.ts';
import { ceilingsOf } from './shard-rails.ts';

type Changed = Partial<{ -readonly [Name in keyof WhatIfSettings]: WhatIfSettings[Name] }>;

/** The settings that a question may change, by field of the configuration, and what each does to those of a shard. */
const APPLY = {
  cycleIntervalMs: (value: number) => ({ cycleIntervalMs: value }),
  actuationPaused: (value: boolean) => ({ isPaused: value }),
  dryRun: (value: boolean) => ({ isDryRun: value }),
  maxActionsPerCycle: (value: number) => ({ actionsPerCycleMax: value }),
  reclaimCapFraction: (value: number | 'none') => {
    if (value === 'none')
      refuse('A question cannot set reclaim-cap-fraction to none', 'Set it to a fraction');
    return { reclaimCapFraction: value as number };
  },
  preemptionCapFraction: (value: number) => ({ preemptionCapFraction: value }),
  idleHoldOnDemandMs: (value: number) => ({ idleHoldOnDemandMs: value }),
  idleHoldSpotMs: (value: number) => ({ idleHoldSpotMs: value }),
  executeConcurrency: (value: number) => ({ executeConcurrency: value }),
  ceilings: (value: Parameters<typeof ceilingsOf>[0]) => ({ ceilings: ceilingsOf(value) }),
  tenants: (value: readonly Parameters<typeof tenantLimits>[0][]) => ({ tenants: value.map(tenantLimits) }),
  placement: (kind: WhatIfSettings['placement']['kind'], now: WhatIfSettings) => ({
    placement: { ...now.placement, kind },
  }),
  placementOfferMargin: (offerMargin: number, now: WhatIfSettings) => ({
    placement: { ...now.placement, offerMargin },
  }),
  preemptionWeightGap: (gap: number, now: WhatIfSettings) => weights(now, { gap }),
  preemptionWeightDrain: (drain: number, now: WhatIfSettings) => weights(now, { drain }),
  preemptionWeightInterruption: (interruption: number, now: WhatIfSettings) => weights(now, { interruption }),
  preemptionWeightReclamation: (reclamation: number, now: WhatIfSettings) => weights(now, { reclamation }),
} as const;

function weights(now: WhatIfSettings, changed: Partial<PreemptionWeights>): Changed {
  const usual = { gap: 1, drain: 0.1, interruption: 0.1, reclamation: 0.1 };
  return { preemptionWeights: { ...usual, ...now.preemptionWeights, ...changed } };
}

const FIELDS = new Map(
  Object.keys(APPLY).map((field) => [flagOf(field, settingOf(field)), field as keyof typeof APPLY]),
);

function settingOf(field: string): Setting<unknown> {
  return (SHARD_SETTINGS as Readonly<Record<string, Setting<unknown>>>)[field]!;
}

/** `reclaim-cap-fraction=0.2`. Settings are read as those of `flotilla shard`, and refused as there. */
export function readWhatIfSettings(texts: readonly string[], now: WhatIfSettings): WhatIfSettings {
  let settings = now;
  for (const [name, values] of byName(texts)) {
    const field = FIELDS.get(name);
    if (field === undefined)
      refuse(
        `set names ${quoted(name)}, which a question cannot change`,
        `It may change ${[...FIELDS.keys()].join(', ')}`,
      );
    try {
      const value = settingOf(field!).parse(values) as never;
      settings = { ...settings, ...APPLY[field!](value, settings) };
    } catch (error) {
      if (!(error instanceof InvalidValueError)) throw error;
      refuse(`set ${name}: ${error.what}`, error.remedy);
    }
  }
  return settings;
}

/** A setting that takes a list may be given several times. */
function byName(texts: readonly string[]): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const text of texts) {
    const at = text.indexOf('=');
    if (at < 1) refuse(`set is ${quoted(text)}`, 'Write NAME=VALUE, such as reclaim-cap-fraction=0.2');
    const name = text.slice(0, at).trim();
    found.set(name, [...(found.get(name) ?? []), text.slice(at + 1).trim()]);
  }
  return found;
}

/** Asks the shard of the present term: a takeover replaces it. */
export class PresentWhatIf implements WhatIfPort {
  #shard: Shard | null = null;

  begin(shard: Shard): void {
    this.#shard = shard;
  }

  async ask(...[texts, onProgress, signal]: Parameters<WhatIfPort['ask']>): ReturnType<WhatIfPort['ask']> {
    if (this.#shard === null) refuse('The shard has not started yet', 'Ask again in a moment');
    const read = (now: WhatIfSettings) => readWhatIfSettings(texts.set, now);
    return this.#shard!.whatIf.ask(texts, read, onProgress, signal);
  }
}
