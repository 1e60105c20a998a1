/**
 * Requirements of the catalogue's workloads. Profiles vary as in a mixed fleet: some require a zone, some a
 * capacity type, some no accelerator. So a cluster has about a hundred distinct profiles, and the fleet some
 * hundred distinct requirement sets.
 */
import type { Random } from '../../base/random.ts';
import { CAPACITY_TYPE_NAMES, type CapacityType } from '../../machine/capacity-type.ts';
import {
  Operator,
  type ProfileParts,
  type Requirement,
  WhenUnsatisfiable,
  withoutSameRequirements,
} from '../../needs/requirements.ts';
import type { Archetype } from './archetypes.ts';
import {
  ACCELERATOR_KEY,
  CAPACITY_TYPE_KEY,
  FAMILY_KEY,
  INSTANCE_TYPE_KEY,
  type MachineType,
  RACK_KEY,
  ZONE_KEY,
  ZONES,
} from './hardware.ts';

export interface DrawnProfile extends ProfileParts {
  /** Capacity types that the requirements allow. */
  readonly capacityTypes: readonly CapacityType[];
  /** Index of the required zone; null: any zone. */
  readonly zone: number | null;
}

const ONE_ZONE_SHARE = 0.6;
/** Share of the profiles that accept every capacity type; the others require one of the two steadiest. */
const ANY_PAYMENT_SHARE = 0.6;

export function drawProfile(
  random: Random,
  archetype: Archetype,
  type: MachineType,
  wish: { readonly colocated: boolean; readonly spread: boolean },
): DrawnProfile {
  const requirements: Requirement[] = [];
  const add = (key: string, operator: number, values: readonly string[]) =>
    requirements.push({ key, operator, values });

  add(INSTANCE_TYPE_KEY, Operator.In, [type.name]);
  const zone = !wish.spread && random.chance(ONE_ZONE_SHARE) ? random.below(ZONES.length) : null;
  if (zone !== null) add(ZONE_KEY, Operator.In, [ZONES[zone]!]);
  let capacityTypes = archetype.capacityTypes;
  if (!random.chance(ANY_PAYMENT_SHARE)) {
    capacityTypes = capacityTypes.slice(0, 2);
    add(
      CAPACITY_TYPE_KEY,
      Operator.In,
      capacityTypes.map((capacityType) => CAPACITY_TYPE_NAMES[capacityType]),
    );
  }
  if (type.family === 'gpu') add(ACCELERATOR_KEY, Operator.Exists, []);
  else if (random.chance(0.3)) add(ACCELERATOR_KEY, Operator.DoesNotExist, []);
  if (random.chance(0.2)) add(FAMILY_KEY, Operator.NotIn, ['preview']);
  if (wish.colocated) add(RACK_KEY, Operator.Same, []);

  const [low, high] = archetype.penalties;
  return {
    requirements,
    spread: wish.spread
      ? [{ topologyKey: ZONE_KEY, maxSkew: 1, whenUnsatisfiable: WhenUnsatisfiable.DoNotSchedule }]
      : [],
    priority: archetype.priority,
    interruptionPenalty: random.between(low, high),
    reclamationPenalty: random.between(low, high),
    capacityTypes,
    zone,
  };
}

/** The profile of the fold that a small gang joins. */
export function foldProfile(profile: ProfileParts): ProfileParts {
  return { ...profile, requirements: withoutSameRequirements(profile.requirements) };
}
