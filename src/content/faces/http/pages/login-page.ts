import { html } from './html.ts'
import { layout } from './layout.ts'

/** Content of the login page. */
export interface LoginPage {
  readonly title: string
  readonly next: string
  /** Whether password login is configured, and whether users have names. */
  readonly hasPasswords: boolean
  readonly hasNames: boolean
  readonly username?: string
  /** Label of the single sign-on provider. */
  readonly provider: string | undefined
  readonly error?: string
}

/** Password managers store a password only with a user name. */
const NOBODY = html`<input name="username" autocomplete="username" value="reader" hidden />`

/** Renders the login page. It works without the script, which keeps the section of the requested page. An error is announced and associated with its field. */
export function loginPage({
  title,
  next,
  hasPasswords,
  hasNames,
  username,
  provider,
  error,
}: LoginPage): string {
  const about = error === undefined ? html`` : html` aria-invalid="true" aria-describedby="error"`
  const name = html`<label for="username">User name</label>
    <input
      id="username"
      name="username"
      value="${username ?? ''}"
      autocomplete="username"
      autocapitalize="none"
      spellcheck="false"
      required${username === undefined ? html` autofocus` : html``}
    />`
  const form = html`<form method="post" action="/_login">
    <input type="hidden" name="next" value="${next}" />
    ${hasNames ? name : NOBODY}
    <label for="password">Password</label>
    <input
      id="password"
      name="password"
      type="password"
      autocomplete="current-password"
      required${about}${hasNames && username === undefined ? html`` : html` autofocus`}
    />
    <button>Log in</button>
  </form>`
  const providerLink = html`<a
    class="button${hasPasswords ? ' plain' : ''}"
    href="/_login/oidc?next=${encodeURIComponent(next)}"
    >Log in with ${provider}</a
  >`
  return layout(
    `Log in – ${title}`,
    html`<body class="narrow">
      <main class="card">
        <h1>${title}</h1>
        ${error === undefined ? html`` : html`<p id="error" class="error" role="alert">${error}</p>`}
        ${hasPasswords ? form : html``} ${provider === undefined ? html`` : providerLink}
      </main>
    </body>`,
    html`<script type="module" src="/_login.js"></script>`,
  )
}
