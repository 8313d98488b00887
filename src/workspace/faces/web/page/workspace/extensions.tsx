import type { WireConnected } from '../../../../api/bus.ts'
import { QueryView } from '../parts/query-view.tsx'
import { Card } from '../parts/card.tsx'
import { useQuery } from '../parts/use-query.ts'
import { texts } from '../texts.ts'

const EVERY_MS = 10_000

/** Extensions of a workspace with their state in the guest and on the host. */
export function Extensions({ name }: { readonly name: string }) {
  const query = useQuery<{ readonly workspaces: readonly WireConnected[] }>(
    '/api/plugins/workspaces',
    EVERY_MS,
  )
  return (
    <Card title={texts.extensions.title} name="extensions" isWide>
      <QueryView query={query}>
        {({ workspaces }) => {
          const connected = workspaces.find((each) => each.name === name)
          if (connected === undefined) return <p class="faint">{texts.extensions.notConnected}</p>
          return <ExtensionLines extensions={connected.extensions} />
        }}
      </QueryView>
    </Card>
  )
}

/** A list of extensions. */
export function ExtensionLines({ extensions }: { readonly extensions: WireConnected['extensions'] }) {
  if (extensions.length === 0) return <p class="faint">{texts.extensions.none}</p>
  return (
    <ul class="lines">
      {extensions.map(({ namespace, guest, host }) => (
        <li key={namespace}>
          <span class="grow">{namespace}</span>
          <span class={guest === 'running' ? 'status running' : 'status error'}>
            {texts.extensions.guest(guest)}
          </span>
          <span class={host === 'connected' ? 'status running' : 'status error'}>
            {texts.extensions.host(host)}
          </span>
        </li>
      ))}
    </ul>
  )
}
