import type { Static } from 'typebox'
import { useEffect, useState } from 'preact/hooks'
import type { completedLoginSchema, loginOfferSchema, loginSchema } from '../../../api/login.ts'
import { Button } from './parts/button.tsx'
import { Problem } from './parts/problem.tsx'
import { useAction } from './parts/use-action.ts'
import { useQuery } from './parts/use-query.ts'
import { fetchJson, setToken } from './server/request.ts'
import { texts } from './texts.ts'

type Prompt = Static<typeof loginSchema>

/** A login with the server's OpenID provider in another tab; nothing if the server has none. */
export function Login() {
  // Without an answer, a token can still be entered.
  const offer = useQuery<Static<typeof loginOfferSchema>>('/api/login').value
  const [prompt, setPrompt] = useState<Prompt>()
  const [left] = useState(() => new AbortController())
  // A login that is completed later must not replace a token entered meanwhile.
  useEffect(() => () => left.abort(), [])
  const { isBusy, problem, start } = useAction(() =>
    logIn(setPrompt, left.signal).finally(() => setPrompt(undefined)),
  )
  if (offer?.available !== true) return null
  return (
    <section class="login">
      <h1>{texts.login.title}</h1>
      {prompt === undefined ? (
        <Button kind="main" isDisabled={isBusy} onClick={start}>
          {texts.login.begin}
        </Button>
      ) : (
        <Steps prompt={prompt} />
      )}
      {problem !== undefined && <Problem>{problem}</Problem>}
    </section>
  )
}

function Steps({ prompt }: { readonly prompt: Prompt }) {
  return (
    <div role="status">
      <p>
        {texts.login.open}{' '}
        <a href={prompt.complete_url ?? prompt.url} target="_blank" rel="noopener noreferrer">
          {prompt.url}
        </a>
      </p>
      <p>
        {texts.login.code} <strong class="code">{prompt.user_code}</strong>
      </p>
      <p class="faint">{texts.login.waiting}</p>
    </div>
  )
}

/** Begins a login, waits for the user, and stores the token. @throws a `ServerError` */
async function logIn(onPrompt: (prompt: Prompt) => void, signal: AbortSignal): Promise<void> {
  const prompt = await fetchJson<Prompt>('/api/login', { method: 'POST', signal })
  onPrompt(prompt)
  for (;;) {
    const { token } = await fetchJson<Static<typeof completedLoginSchema>>(`/api/login/${prompt.id}`, {
      method: 'POST',
      signal,
    })
    if (token !== undefined) return setToken('server', token)
  }
}
