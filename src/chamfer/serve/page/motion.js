/** Animated reordering, so that the eye can follow. */

const still = matchMedia("(prefers-reduced-motion: reduce)");

/** Animations that may still run. Asking elements for theirs would compute styles anew for each of them. @type {Set<Animation>} */
let running = new Set();

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
    if (!same) arrange(list, order);
    change();
    return;
  }
  // Measured while earlier animations run, so that nothing jumps while a weight is dragged.
  const before = new Map(order.map((child) => [child, child.getBoundingClientRect()]));
  arrange(list, order);
  change();
  for (const animation of running) animation.cancel();
  running = new Set();
  // All are measured before any is animated: a measurement after a change computes the whole layout anew.
  const after = order.map((child) => child.getBoundingClientRect());
  order.forEach((child, n) => {
    const [was, now] = [/** @type {DOMRect} */ (before.get(child)), after[n]];
    const seen = isInView(now) || (was.height > 0 && isInView(was));
    if (now.height === 0 || !seen || (was.height > 0 && was.top === now.top)) return;
    // A child that was hidden has no old position, so it fades in.
    const from = was.height === 0 ? { opacity: 0 } : { transform: `translateY(${was.top - now.top}px)` };
    running.add(child.animate([from, { opacity: 1, transform: "none" }], { duration: 320, easing: "cubic-bezier(.2,.8,.2,1)" }));
  });
}

/** @param {DOMRect} box */
const isInView = (box) => box.bottom > 0 && box.top < innerHeight;

/** Put children in order, moving as few as a single pass finds. @param {HTMLElement} list @param {HTMLElement[]} order */
function arrange(list, order) {
  order.forEach((child, n) => {
    if (list.children[n] !== child) list.insertBefore(child, list.children[n] ?? null);
  });
  while (list.children.length > order.length) list.lastElementChild?.remove();
}
