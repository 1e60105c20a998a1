/** Sorts lists that mostly have two or three slots, for which Array.sort takes longer to start than to sort. */

const FEW_MAX = 8;

export function sortFew(slots: number[], compare: (slotA: number, slotB: number) => number): void {
  if (slots.length > FEW_MAX) {
    slots.sort(compare);
    return;
  }
  for (let count = 1; count < slots.length; count++) {
    const slot = slots[count]!;
    let at = count;
    for (; at > 0 && compare(slot, slots[at - 1]!) < 0; at--) slots[at] = slots[at - 1]!;
    slots[at] = slot;
  }
}
