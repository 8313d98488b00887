import { useState } from 'preact/hooks'
import type { WireSession } from '../../../../api/session.ts'
import { QueryView } from '../parts/query-view.tsx'
import { Button } from '../parts/button.tsx'
import { Card } from '../parts/card.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { formatAge } from '../parts/format.ts'
import { Icon } from '../parts/icon.tsx'
import { notify } from '../parts/notices.tsx'
import { useQuery } from '../parts/use-query.ts'
import { useNow } from '../parts/use-now.ts'
import { terminalHref } from '../routes.ts'
import { fetchJson, messageOf } from '../server/request.ts'
import { texts } from '../texts.ts'

const EVERY_MS = 5_000

/** tmux sessions of a workspace: attach, create, kill. */
export function Sessions({ name }: { readonly name: string }) {
  const path = `/api/workspaces/${encodeURIComponent(name)}/sessions`
  const query = useQuery<{ readonly sessions: readonly WireSession[] }>(path, EVERY_MS)
  const nowMs = useNow(EVERY_MS)
  const [killing, setKilling] = useState<string>()
  const labels = texts.sessions
  const kill = async (session: string): Promise<void> => {
    setKilling(undefined)
    try {
      await fetchJson(`${path}/${encodeURIComponent(session)}`, { method: 'DELETE' })
      query.reload()
    } catch (error) {
      notify(texts.failed(labels.kill(session), messageOf(error)))
    }
  }
  return (
    <Card title={labels.title} name="sessions">
      <QueryView query={query}>
        {({ sessions }) => (
          <>
            {sessions.length === 0 && <p class="faint">{labels.none}</p>}
            <ul class="lines">
              {sessions.map((session) => (
                <li key={session.name} data-session={session.name}>
                  <span class="grow">
                    <a href={terminalHref(name, session.name)}>{session.name}</a>
                    <span class="faint">
                      {labels.facts(
                        session.window_count,
                        formatAge(session.created_at, nowMs),
                        session.attached,
                      )}
                    </span>
                  </span>
                  <a class="button" href={terminalHref(name, session.name)}>
                    <Icon name="terminal" />
                    {labels.attach}
                  </a>
                  <Button
                    icon="delete"
                    label={labels.kill(session.name)}
                    onClick={() => setKilling(session.name)}
                  />
                </li>
              ))}
            </ul>
          </>
        )}
      </QueryView>
      <NewSession name={name} />
      {killing !== undefined && (
        <Dialog title={labels.killTitle(killing)} onClose={() => setKilling(undefined)}>
          <p>{labels.killWarning}</p>
          <div class="dialog-actions">
            <Button onClick={() => setKilling(undefined)}>{texts.cancel}</Button>
            <Button kind="danger" icon="delete" onClick={() => void kill(killing)}>
              {labels.killConfirm}
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
