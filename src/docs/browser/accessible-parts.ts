/**
 * Adds to Scalar's page what assistive technology needs and its parts do not have: names of buttons that show a
 * picture only, the keyboard's way into lists that scroll, and another landmark than a second banner for its bar on
 * small screens.
 */

const COPY_BUTTON = "button.group\\/copy-button:not([aria-label])";
const SCROLLED_LIST = "ul.endpoints:not([tabindex])";
const SMALL_BAR = "header:not(#bar, [role])";

/** Completes the parts that are there, and each part that Scalar adds later. */
export function keepAccessible(root: HTMLElement): void {
  const complete = () => {
    for (const button of root.querySelectorAll(COPY_BUTTON)) button.setAttribute("aria-label", "Copy");
    for (const list of root.querySelectorAll(SCROLLED_LIST)) list.setAttribute("tabindex", "0");
    for (const bar of root.querySelectorAll(SMALL_BAR)) {
      bar.setAttribute("role", "none");
      bar.parentElement?.setAttribute("role", "region");
      bar.parentElement?.setAttribute("aria-label", "Contents");
    }
  };
  // What it sets itself is no change of the tree, so that it does not call itself.
  new MutationObserver(complete).observe(root, { childList: true, subtree: true });
  complete();
}
