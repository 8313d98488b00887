import { useEffect, useState } from 'preact/hooks'
import type { WireConnected, WireListener } from '../../../../api/bus.ts'
import { QueryView } from '../parts/query-view.tsx'
import { Card } from '../parts/card.tsx'
import { formatAge } from '../parts/format.ts'
import { Sparkline } from '../parts/sparkline.tsx'
import { useQuery } from '../parts/use-query.ts'
import { useNow } from '../parts/use-now.ts'
import { workspaceHref } from '../routes.ts'
import { missingTokens } from '../server/request.ts'
import { useStore } from '../state/store.ts'
import { texts } from '../texts.ts'
import { TokenForm } from '../token-form.tsx'
import { ExtensionLines } from '../workspace/extensions.tsx'
import { followBus, RATE_SECONDS } from './bus-tail.ts'
import { Tail } from './tail.tsx'

const EVERY_MS = 5_000

/** The message bus page: listeners, connected workspaces, and messages. */
export function BusPage() {
  const needsToken = useStore(missingTokens, (missing) => missing.has('bus'))
  return (
    <>
      <div class="page-head">
        <h1>{texts.titles.bus}</h1>
      </div>
      {needsToken ? <TokenForm realm="bus" /> : <Bus />}
    </>
  )
}

function Bus() {
  const [{ tail, unsubscribe }] = useState(followBus)
  useEffect(() => unsubscribe, [])
  const { rates } = useStore(tail)
  const nowMs = useNow(EVERY_MS)
  const listeners = useQuery<{ readonly listeners: readonly WireListener[] }>(
    '/api/plugins/listeners',
    EVERY_MS,
  )
  const connected = useQuery<{ readonly workspaces: readonly WireConnected[] }>(
    '/api/plugins/workspaces',
    EVERY_MS,
  )
  const labels = texts.bus
  const average = rates.reduce((sum, each) => sum + each, 0) / Math.max(1, rates.length)
  return (
    <div class="cards">
      <Card title={labels.listeners} name="listeners">
        <QueryView query={listeners}>
          {(value) => (
            <>
              {value.listeners.length === 0 && <p class="faint">{labels.noListeners}</p>}
              <ul class="lines">
                {value.listeners.map(({ namespace, created_at: since }) => (
                  <li key={namespace} data-listener={namespace}>
                    <span class="grow">{namespace}</span>
                    <span class="faint">{formatAge(since, nowMs)}</span>
                  </li>
                ))}
              </ul>
            </>
          )}
        </QueryView>
      </Card>
      <Card title={labels.rates} name="rates">
        <div class="gauge">
          <span>{labels.perSecond}</span>
          <strong>{average.toFixed(1)}</strong>
          <Sparkline
            values={rates}
            atLeast={5}
            capacity={RATE_SECONDS}
            label={labels.rateLabel(average.toFixed(1))}
          />
        </div>
      </Card>
      <Card title={labels.connected} name="connected" isWide>
        <QueryView query={connected}>
          {({ workspaces }) => (
            <>
              {workspaces.length === 0 && <p class="faint">{labels.noConnected}</p>}
              {workspaces.map(({ name, backend, server, extensions }) => (
                <div key={`${server}/${name}`} class="connected" data-connected={name}>
                  <h3>
                    <a href={workspaceHref(name)}>{name}</a>
                    <span class="faint">{labels.at(backend, server)}</span>
                  </h3>
                  <ExtensionLines extensions={extensions} />
                </div>
              ))}
            </>
          )}
        </QueryView>
      </Card>
      <Tail tail={tail} />
    </div>
  )
}
