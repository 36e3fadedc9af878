/** Animated reordering, so that the eye can follow. */

const still = matchMedia("(prefers-reduced-motion: reduce)");

/**
 * Reorder the children of a list; those that move glide to their new place.
 *
 * @param {HTMLElement} list
 * @param {HTMLElement[]} order
 * @param {() => void} change makes other changes to the layout at the same time
 */
export function reorder(list, order, change) {
  const same = order.length === list.children.length && order.every((child, n) => list.children[n] === child);
  // A list that was empty has nothing to move.
  if (same || still.matches || list.children.length === 0) {
    if (!same) list.replaceChildren(...order);
    change();
    return;
  }
  // Measured while earlier animations run, so that nothing jumps while a slider is dragged.
  const before = new Map(order.map((child) => [child, child.getBoundingClientRect().top]));
  list.replaceChildren(...order);
  change();
  for (const child of order) {
    for (const animation of child.getAnimations()) animation.cancel();
    const was = before.get(child) ?? 0;
    const now = child.getBoundingClientRect();
    if (now.height === 0 || was === now.top) continue;
    // A child that was hidden has no old position, so it fades in.
    const from = was === 0 ? { opacity: 0 } : { transform: `translateY(${was - now.top}px)` };
    child.animate([from, { opacity: 1, transform: "none" }], { duration: 320, easing: "cubic-bezier(.2,.8,.2,1)" });
  }
}
