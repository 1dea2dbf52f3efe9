/** The pages on which a user enters a device's code, logs in and decides. */
import { credentialFields, escapeHtml, htmlPage, nameHtml, warningLine, type HtmlPage } from "../../login/html-page.js";
import { scopeLine } from "../../login/login-page.js";

const TITLE = "Connect a device";

/** Returns the page that asks for the code. */
export function codePage(message?: string): HtmlPage {
  return htmlPage({
    title: TITLE,
    body: [
      "<p>Enter the code that the device or program shows.</p>",
      warningLine(message),
      '<form method="get" action="device">',
      '<label for="user_code">Code</label><input id="user_code" name="user_code" autocomplete="off" autocapitalize="characters" spellcheck="false" maxlength="20" required>',
      "<button>Continue</button></form>",
    ],
  });
}

/** Returns the page on which the user logs in and decides about one device. */
export function decisionPage(input: {
  readonly applicationName: string;
  readonly userCode: string;
  readonly scopes: readonly string[];
  readonly email?: string | undefined;
  readonly message?: string | undefined;
}): HtmlPage {
  const code = escapeHtml(input.userCode);
  return htmlPage({
    title: TITLE,
    body: [
      `<p><strong>${nameHtml(input.applicationName)}</strong> wants to act for you on a device that shows the code <strong>${code}</strong>.</p>${scopeLine(input.scopes)}`,
      '<p class="warn">Go on only if you started this yourself and the device is in front of you. Whoever sent you a code or a link would get access to your account.</p>',
      warningLine(input.message),
      `<form method="post" action="device"><input type="hidden" name="user_code" value="${code}">`,
      credentialFields(input.email),
      '<button name="decision" value="allow">Log in and allow</button><button name="decision" value="deny" formnovalidate>Deny</button></form>',
    ],
  });
}

/** Returns the page after the decision. */
export function decidedPage(decision: "approved" | "denied"): HtmlPage {
  const sentence =
    decision === "approved" ? "The device is connected. You may go back to it." : "The device gets no access.";
  return htmlPage({ title: TITLE, body: [`<p>${sentence} You may close this window.</p>`] });
}
