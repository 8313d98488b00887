import type { Static } from 'typebox'
import type { portsSchema } from '../../../../api/inside.ts'
import type { WireWorkspace } from '../../../../api/workspace.ts'
import { QueryView } from '../parts/query-view.tsx'
import { Button } from '../parts/button.tsx'
import { Card } from '../parts/card.tsx'
import { notify } from '../parts/notices.tsx'
import { useQuery } from '../parts/use-query.ts'
import { fetchJson, messageOf } from '../server/request.ts'
import { texts } from '../texts.ts'

const EVERY_MS = 5_000

type WirePorts = Static<typeof portsSchema>

/** Open ports of a workspace, with buttons that open them in the browser. */
export function Ports({ workspace }: { readonly workspace: WireWorkspace }) {
  const { name, forward_ports: wanted = [] } = workspace
  const path = `/api/workspaces/${encodeURIComponent(name)}`
  const query = useQuery<WirePorts>(`${path}/ports`, EVERY_MS)
  const open = async (port: number): Promise<void> => {
    // Before any await: browsers open tabs only directly after a click.
    const tab = window.open('about:blank')
    if (tab === null) return notify(texts.ports.blocked)
    try {
      const body = { for: 'port', port }
      const { url } = await fetchJson<{ readonly url: string }>(`${path}/passes`, { method: 'POST', body })
      // The port's content must not access this page.
      tab.opener = null
      tab.location.replace(url)
    } catch (error) {
      tab.close()
      notify(texts.failed(texts.ports.open(port), messageOf(error)))
    }
  }
  return (
    <Card title={texts.ports.title} name="ports">
      <QueryView query={query}>
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
                    {texts.ports.openAction}
                  </Button>
                </li>
              ))}
            </ul>
          </>
        )}
      </QueryView>
    </Card>
  )
}

/** Removes duplicates: a program that listens on IPv4 and IPv6 is listed twice. */
function onePerPort(ports: WirePorts['ports']): WirePorts['ports'] {
  return [...new Map(ports.map((each) => [each.port, each])).values()].toSorted((a, b) => a.port - b.port)
}
