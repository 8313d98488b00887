import { useState } from 'preact/hooks'
import type { WireBusEvent } from '../../../../api/bus.ts'
import { Button } from '../parts/button.tsx'
import { Card } from '../parts/card.tsx'
import { type Store, useStore } from '../state/store.ts'
import { texts } from '../texts.ts'
import type { BusTail } from './bus-tail.ts'

/** Maximum length of the payload keys shown as a summary. */
const SUMMARY_LENGTH = 60

/** Messages on the bus, one per line, with collapsed payloads; the server omits secrets. */
export function Tail({ tail }: { readonly tail: Store<BusTail> }) {
  const live = useStore(tail, ({ messages }) => messages)
  const [paused, setPaused] = useState<readonly WireBusEvent[]>()
  const [text, setText] = useState('')
  const labels = texts.bus
  const shown = (paused ?? live).filter(({ namespace, workspace }) =>
    `${namespace} ${workspace.name}`.includes(text.trim()),
  )
  return (
    <Card
      title={labels.tail}
      name="tail"
      isWide
      actions={
        <>
          <input
            type="search"
            aria-label={labels.filter}
            placeholder={labels.filter}
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
          <Button onClick={() => setPaused(paused === undefined ? live : undefined)}>
            {paused === undefined ? labels.pause : labels.resume}
          </Button>
        </>
      }
    >
      {shown.length === 0 ? (
        <p class="faint">{labels.nothing}</p>
      ) : (
        <div class="scroll" tabIndex={0} role="region" aria-label={labels.tail}>
          <table class="figures tail">
            <thead>
              <tr>
                <th scope="col">{labels.time}</th>
                <th scope="col">{labels.workspace}</th>
                <th scope="col">{labels.namespace}</th>
                <th scope="col">{labels.type}</th>
                <th scope="col">{labels.id}</th>
                <th scope="col">{labels.payload}</th>
              </tr>
            </thead>
            <tbody>
              {shown.map((each) => (
                <Message key={`${each.id} ${each.type} ${each.lost}`} message={each} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Card>
  )
}

function Message({ message }: { readonly message: WireBusEvent }) {
  const { id, namespace, type, in_reply_to: inReplyTo, timestamp, workspace, lost } = message
  return (
    <tr data-message={id}>
      <td>{timestamp.slice(11, 23)}</td>
      <td>{workspace.name}</td>
      <td>{namespace}</td>
      <td>
        {texts.bus.types[type]}
        {lost !== undefined && <span class="problem"> {texts.bus.lost[lost]}</span>}
      </td>
      <td class="id" title={inReplyTo === undefined ? id : texts.bus.answers(id, inReplyTo)}>
        {id.slice(-8)}
        {inReplyTo !== undefined && ` → ${inReplyTo.slice(-8)}`}
      </td>
      <td>
        <Payload message={message} />
      </td>
    </tr>
  )
}

function Payload({ message: { payload, payload_left_out: why } }: { readonly message: WireBusEvent }) {
  const labels = texts.bus
  if (why !== undefined) return <span class="faint">{labels.leftOut[why]}</span>
  if (payload === undefined || Object.keys(payload).length === 0)
    return <span class="faint">{labels.empty}</span>
  return (
    <details>
      <summary>{Object.keys(payload).join(', ').slice(0, SUMMARY_LENGTH)}</summary>
      <pre>{JSON.stringify(payload, undefined, 2)}</pre>
    </details>
  )
}
