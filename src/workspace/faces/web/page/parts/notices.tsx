import { Store, useStore } from '../state/store.ts'
import { texts } from '../texts.ts'
import { Button } from './button.tsx'

interface Notice {
  readonly id: number
  readonly text: string
}

const notices = new Store<readonly Notice[]>([])
let lastId = 0

/** Shows an error that has no dedicated place on the page, until it is dismissed. */
export function notify(text: string): void {
  notices.set([...notices.value.slice(-4), { id: ++lastId, text }])
}

/** The list of notices. */
export function Notices() {
  const all = useStore(notices)
  const close = (id: number): void => notices.set(notices.value.filter((each) => each.id !== id))
  return (
    <div class="notices" role="alert">
      {all.map(({ id, text }) => (
        <p key={id} class="notice">
          <span>{text}</span>
          <Button icon="close" kind="quiet" label={texts.close} onClick={() => close(id)} />
        </p>
      ))}
    </div>
  )
}
