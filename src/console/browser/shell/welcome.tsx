/** What a visitor sees: signing in, and signing up. */
import { useState } from "preact/hooks";
import { API } from "../parts/api-calls.js";
import { sentenceOf } from "../parts/api.js";
import { Form } from "../parts/form.js";
import { signIn } from "../parts/session.js";
import { Field } from "../parts/ui.js";
import { Mark } from "./shell.js";
import { ThemeSwitch } from "./theme.js";

/** The page before the login. */
export function Welcome({ notice }: { readonly notice: string | undefined }) {
  const [isNew, setNew] = useState(false);
  const [failure, setFailure] = useState(notice);
  const begin = (email?: string): void => {
    signIn(email).catch((error: unknown) => {
      setFailure(sentenceOf(error));
    });
  };
  return (
    <main class="welcome" tabIndex={-1}>
      <div class="card">
        <p class="brand">
          <Mark /> Proofwright
        </p>
        <h1>{isNew ? "Create an account" : "Sign in"}</h1>
        {failure === undefined ? null : (
          <p class="failure" role="alert">
            {failure}
          </p>
        )}
        {isNew ? (
          <SignUp onDone={begin} />
        ) : (
          <>
            <p>Prove statements, keep keys, send transactions: what this server does, in one place.</p>
            <div class="row actions">
              <button type="button" class="main" onClick={() => begin()}>
                Sign in
              </button>
            </div>
          </>
        )}
        <p class="switch">
          {isNew ? "You have an account? " : "New here? "}
          <button type="button" class="link" onClick={() => setNew(!isNew)}>
            {isNew ? "Sign in" : "Create an account"}
          </button>
        </p>
      </div>
      <div class="row">
        <ThemeSwitch />
        <a href="docs">API reference</a>
      </div>
    </main>
  );
}

function SignUp({ onDone }: { readonly onDone: (email: string) => void }) {
  return (
    <Form<{ email: string }>
      submit="Create account"
      call={(fields) =>
        API.createUser([], {
          email: fields.text("email"),
          first_name: fields.text("first_name"),
          last_name: fields.text("last_name"),
          password: fields.exact("password"),
        })
      }
      token={(fields) => (fields.text("bootstrap") === "" ? null : fields.text("bootstrap"))}
      onDone={({ email }) => onDone(email)}
    >
      <div class="pair">
        <Field label="First name">
          <input name="first_name" autocomplete="given-name" required />
        </Field>
        <Field label="Last name">
          <input name="last_name" autocomplete="family-name" required />
        </Field>
      </div>
      <Field label="E-mail">
        <input name="email" type="email" autocomplete="email" required />
      </Field>
      <Field label="Password" hint="A long phrase of your own is better than a short word with signs.">
        <input name="password" type="password" autocomplete="new-password" required />
      </Field>
      <details>
        <summary>I set this server up</summary>
        <Field
          label="Bootstrap token"
          hint={
            <>
              Good once, for the first administrator: the text of <code>bootstrap-token</code> in the server's data
              folder.
            </>
          }
        >
          <input name="bootstrap" autocomplete="off" spellcheck={false} />
        </Field>
      </details>
    </Form>
  );
}
