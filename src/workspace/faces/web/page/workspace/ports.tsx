import type { Static } from 'typebox'
import type { portsSchema } from '../../../../api/inside.ts'
import type { WireWorkspace } from '../../../../api/workspace.ts'
import { Answer } from '../parts/answer.tsx'
import { Button } from '../parts/button.tsx'
import { Card } from '../parts/card.tsx'
import { notify } from '../parts/notices.tsx'
import { useAsked } from '../parts/use-asked.ts'
import { ask, messageOf } from '../server/request.ts'
import { texts } from '../texts.ts'

const EVERY_MS = 5_000

type WirePorts = Static<typeof portsSchema>

/** What listens inside, with a way to open it here. */
export function Ports({ workspace }: { readonly workspace: WireWorkspace }) {
  const { name, forward_ports: wanted = [] } = workspace
  const path = `/api/workspaces/${encodeURIComponent(name)}`
  const asked = useAsked<WirePorts>(`${path}/ports`, EVERY_MS)
  const open = async (port: number): Promise<void> => {
    // Before anything is waited for: a browser opens tabs only for what was just clicked.
    const tab = window.open('about:blank')
    if (tab === null) return notify(texts.ports.blocked)
    try {
      const body = { for: 'port', port }
      const { url } = await ask<{ readonly url: string }>(`${path}/passes`, { method: 'POST', body })
      // What is served there must not reach back to this page.
      tab.opener = null
      tab.location.replace(url)
    } catch (error) {
      tab.close()
      notify(texts.failed(texts.ports.open(port), messageOf(error)))
    }
  }
  return (
    <Card title={texts.ports.title} name="ports">
      <Answer asked={asked}>
        {({ ports }) => (
          <>
            {ports.length === 0 && <p class="faint">{texts.ports.none}</p>}
            <ul class="lines">
              {onePerPort(ports).map(({ port, address, process }) => (
                <li key={port} data-port={port}>
                  <span class="grow">
                    <strong>{port}</strong>
                    <span class="faint">
                      {[process, address, wanted.includes(port) && texts.ports.forwarded]
                        .filter(Boolean)
                        .join(' · ')}
                    </span>
                  </span>
                  <Button icon="open" label={texts.ports.open(port)} onClick={() => void open(port)}>
                    {texts.ports.openWord}
                  </Button>
                </li>
              ))}
            </ul>
          </>
        )}
      </Answer>
    </Card>
  )
}

/** A program that listens over IPv4 and IPv6 is there twice. */
function onePerPort(ports: WirePorts['ports']): WirePorts['ports'] {
  return [...new Map(ports.map((each) => [each.port, each])).values()].toSorted((a, b) => a.port - b.port)
}
