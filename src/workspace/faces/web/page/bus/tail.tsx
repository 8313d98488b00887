import { useState } from 'preact/hooks'
import type { WireNews } from '../../../../api/bus.ts'
import { Button } from '../parts/button.tsx'
import { Card } from '../parts/card.tsx'
import { type Store, useStore } from '../state/store.ts'
import { texts } from '../texts.ts'
import type { BusTail } from './bus-tail.ts'

/** Of the names of what a message carries, which are told before it is unfolded. */
const SUMMARY_LENGTH = 60

/** What passes on the bus, one message a line, with what it carries folded; the server leaves out what is a secret. */
export function Tail({ tail }: { readonly tail: Store<BusTail> }) {
  const live = useStore(tail, ({ messages }) => messages)
  const [held, setHeld] = useState<readonly WireNews[]>()
  const [text, setText] = useState('')
  const words = texts.bus
  const shown = (held ?? live).filter(({ namespace, workspace }) =>
    `${namespace} ${workspace.name}`.includes(text.trim()),
  )
  return (
    <Card
      title={words.tail}
      name="tail"
      isWide
      actions={
        <>
          <input
            type="search"
            aria-label={words.filter}
            placeholder={words.filter}
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
          <Button onClick={() => setHeld(held === undefined ? live : undefined)}>
            {held === undefined ? words.hold : words.goOn}
          </Button>
        </>
      }
    >
      {shown.length === 0 ? (
        <p class="faint">{words.nothing}</p>
      ) : (
        <div class="scroll" tabIndex={0} role="region" aria-label={words.tail}>
          <table class="figures tail">
            <thead>
              <tr>
                <th scope="col">{words.time}</th>
                <th scope="col">{words.workspace}</th>
                <th scope="col">{words.namespace}</th>
                <th scope="col">{words.type}</th>
                <th scope="col">{words.id}</th>
                <th scope="col">{words.payload}</th>
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

function Message({ message }: { readonly message: WireNews }) {
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

function Payload({ message: { payload, payload_left_out: why } }: { readonly message: WireNews }) {
  const words = texts.bus
  if (why !== undefined) return <span class="faint">{words.leftOut[why]}</span>
  if (payload === undefined || Object.keys(payload).length === 0)
    return <span class="faint">{words.empty}</span>
  return (
    <details>
      <summary>{Object.keys(payload).join(', ').slice(0, SUMMARY_LENGTH)}</summary>
      <pre>{JSON.stringify(payload, undefined, 2)}</pre>
    </details>
  )
}
