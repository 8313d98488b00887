import { useState } from 'preact/hooks'
import type { WireSession } from '../../../../api/session.ts'
import { Answer } from '../parts/answer.tsx'
import { Button } from '../parts/button.tsx'
import { Card } from '../parts/card.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { formatAge } from '../parts/format.ts'
import { Icon } from '../parts/icon.tsx'
import { notify } from '../parts/notices.tsx'
import { useAsked } from '../parts/use-asked.ts'
import { useNow } from '../parts/use-now.ts'
import { terminalHref } from '../routes.ts'
import { ask, messageOf } from '../server/request.ts'
import { texts } from '../texts.ts'

const EVERY_MS = 5_000

/** The tmux sessions inside: attach to one, make one, end one. */
export function Sessions({ name }: { readonly name: string }) {
  const path = `/api/workspaces/${encodeURIComponent(name)}/sessions`
  const asked = useAsked<{ readonly sessions: readonly WireSession[] }>(path, EVERY_MS)
  const nowMs = useNow(EVERY_MS)
  const [ending, setEnding] = useState<string>()
  const words = texts.sessions
  const end = async (session: string): Promise<void> => {
    setEnding(undefined)
    try {
      await ask(`${path}/${encodeURIComponent(session)}`, { method: 'DELETE' })
      asked.reload()
    } catch (error) {
      notify(texts.failed(words.end(session), messageOf(error)))
    }
  }
  return (
    <Card title={words.title} name="sessions">
      <Answer asked={asked}>
        {({ sessions }) => (
          <>
            {sessions.length === 0 && <p class="faint">{words.none}</p>}
            <ul class="lines">
              {sessions.map((session) => (
                <li key={session.name} data-session={session.name}>
                  <span class="grow">
                    <a href={terminalHref(name, session.name)}>{session.name}</a>
                    <span class="faint">
                      {words.facts(
                        session.window_count,
                        formatAge(session.created_at, nowMs),
                        session.attached,
                      )}
                    </span>
                  </span>
                  <a class="button" href={terminalHref(name, session.name)}>
                    <Icon name="terminal" />
                    {words.attach}
                  </a>
                  <Button
                    icon="delete"
                    label={words.end(session.name)}
                    onClick={() => setEnding(session.name)}
                  />
                </li>
              ))}
            </ul>
          </>
        )}
      </Answer>
      <NewSession name={name} />
      {ending !== undefined && (
        <Dialog title={words.endTitle(ending)} onClose={() => setEnding(undefined)}>
          <p>{words.endLoses}</p>
          <div class="dialog-actions">
            <Button onClick={() => setEnding(undefined)}>{texts.cancel}</Button>
            <Button kind="danger" icon="delete" onClick={() => void end(ending)}>
              {words.endConfirm}
            </Button>
          </div>
        </Dialog>
      )}
    </Card>
  )
}

function NewSession({ name }: { readonly name: string }) {
  const [session, setSession] = useState('')
  return (
    <form
      class="inline-form"
      onSubmit={(event) => {
        event.preventDefault()
        location.hash = terminalHref(name, session)
      }}
    >
      <input
        aria-label={texts.sessions.newName}
        placeholder={texts.sessions.newName}
        name="session"
        required
        pattern="[A-Za-z0-9_\-]+"
        title={texts.sessions.namePattern}
        value={session}
        onInput={(event) => setSession(event.currentTarget.value)}
      />
      <Button type="submit" icon="add">
        {texts.sessions.create}
      </Button>
    </form>
  )
}
