import { useEffect, useRef, useState } from 'preact/hooks'
import { Login } from './login.tsx'
import { Button } from './parts/button.tsx'
import { Problem } from './parts/problem.tsx'
import { hasToken, type Realm, setToken } from './server/request.ts'
import { texts } from './texts.ts'

/** The form for an access token, below a login where users can log in. */
export function TokenForm({ realm }: { readonly realm: Realm }) {
  const [token, setValue] = useState('')
  const labels = texts.token[realm]
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => field.current?.focus(), [])
  return (
    <div class="card token">
      {realm === 'server' && <Login />}
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (token.trim() !== '') setToken(realm, token.trim())
        }}
      >
        <h1>{labels.title}</h1>
        <label>
          {texts.token.label}
          <input
            ref={field}
            type="password"
            name="token"
            autocomplete="current-password"
            required
            value={token}
            onInput={(event) => setValue(event.currentTarget.value)}
          />
        </label>
        {hasToken(realm) && <Problem>{texts.token.refused}</Problem>}
        <p class="faint">{labels.hint}</p>
        <Button type="submit" kind="main">
          {texts.token.send}
        </Button>
      </form>
    </div>
  )
}
