/**
 * Adds to Scalar's page what assistive technology needs and its parts do not have: names of buttons that show a picture
 * only, and the keyboard's way into lists that scroll.
 */

const COPY_BUTTON = "button.group\\/copy-button:not([aria-label])";
const SCROLLED_LIST = "ul.endpoints:not([tabindex])";

/** Completes the parts that are there, and each part that Scalar adds later. */
export function keepAccessible(root: HTMLElement): void {
  const complete = () => {
    for (const button of root.querySelectorAll(COPY_BUTTON)) button.setAttribute("aria-label", "Copy");
    for (const list of root.querySelectorAll(SCROLLED_LIST)) list.setAttribute("tabindex", "0");
  };
  // What it sets itself is no change of the tree, so that it does not call itself.
  new MutationObserver(complete).observe(root, { childList: true, subtree: true });
  complete();
}
