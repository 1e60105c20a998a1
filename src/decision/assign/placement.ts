/** By which rule needs acquire: the reference's (A3), or by what they get for their money (E1–E4). */
export type PlacementKind = 'cheapest' | 'value';

export interface Placement {
  readonly kind: PlacementKind;
  /** E2: what an offer must save, as a share, before it is taken instead of an Idle machine. */
  readonly offerMargin: number;
}

export const OFFER_MARGIN = 0.2;

export const CHEAPEST: Placement = { kind: 'cheapest', offerMargin: OFFER_MARGIN };
