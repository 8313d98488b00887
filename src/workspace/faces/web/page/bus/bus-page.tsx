import { useEffect, useState } from 'preact/hooks'
import type { WireConnected, WireListener } from '../../../../api/bus.ts'
import { Answer } from '../parts/answer.tsx'
import { Card } from '../parts/card.tsx'
import { formatAge } from '../parts/format.ts'
import { Sparkline } from '../parts/sparkline.tsx'
import { useAsked } from '../parts/use-asked.ts'
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

/** The message bus: who listens, who is connected, and what passes. */
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
  const [{ tail, leave }] = useState(followBus)
  useEffect(() => leave, [])
  const { rates } = useStore(tail)
  const nowMs = useNow(EVERY_MS)
  const listeners = useAsked<{ readonly listeners: readonly WireListener[] }>(
    '/api/plugins/listeners',
    EVERY_MS,
  )
  const connected = useAsked<{ readonly workspaces: readonly WireConnected[] }>(
    '/api/plugins/workspaces',
    EVERY_MS,
  )
  const words = texts.bus
  const average = rates.reduce((sum, each) => sum + each, 0) / Math.max(1, rates.length)
  return (
    <div class="cards">
      <Card title={words.listeners} name="listeners">
        <Answer asked={listeners}>
          {(value) => (
            <>
              {value.listeners.length === 0 && <p class="faint">{words.noListeners}</p>}
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
        </Answer>
      </Card>
      <Card title={words.rates} name="rates">
        <div class="gauge">
          <span>{words.perSecond}</span>
          <strong>{average.toFixed(1)}</strong>
          <Sparkline
            values={rates}
            atLeast={5}
            room={RATE_SECONDS}
            label={words.rateLabel(average.toFixed(1))}
          />
        </div>
      </Card>
      <Card title={words.connected} name="connected" isWide>
        <Answer asked={connected}>
          {({ workspaces }) => (
            <>
              {workspaces.length === 0 && <p class="faint">{words.noConnected}</p>}
              {workspaces.map(({ name, backend, server, extensions }) => (
                <div key={`${server}/${name}`} class="connected" data-connected={name}>
                  <h3>
                    <a href={workspaceHref(name)}>{name}</a>
                    <span class="faint">{words.at(backend, server)}</span>
                  </h3>
                  <ExtensionLines extensions={extensions} />
                </div>
              ))}
            </>
          )}
        </Answer>
      </Card>
      <Tail tail={tail} />
    </div>
  )
}
