/** Reordering that the eye can follow: where things were, where they are, and the way between. */

const still = matchMedia("(prefers-reduced-motion: reduce)");

/**
 * Put the children of a list in an order, and let those that moved glide there.
 *
 * @param {HTMLElement} list
 * @param {HTMLElement[]} order
 * @param {() => void} change what else changes the layout at the same time
 */
export function reorder(list, order, change) {
  const same = order.length === list.children.length && order.every((child, n) => list.children[n] === child);
  // What was not there has not moved.
  if (same || still.matches || list.children.length === 0) {
    if (!same) list.replaceChildren(...order);
    change();
    return;
  }
  // Measured while earlier motion goes on, so that a moving slider never makes them jump.
  const before = new Map(order.map((child) => [child, child.getBoundingClientRect().top]));
  list.replaceChildren(...order);
  change();
  for (const child of order) {
    for (const animation of child.getAnimations()) animation.cancel();
    const was = before.get(child) ?? 0;
    const now = child.getBoundingClientRect();
    if (now.height === 0 || was === now.top) continue;
    // What was hidden has no place to come from; it fades in.
    const from = was === 0 ? { opacity: 0 } : { transform: `translateY(${was - now.top}px)` };
    child.animate([from, { opacity: 1, transform: "none" }], { duration: 320, easing: "cubic-bezier(.2,.8,.2,1)" });
  }
}
