import { Store, useStore } from '../state/store.ts'
import { texts } from '../texts.ts'
import { Button } from './button.tsx'

interface Notice {
  readonly id: number
  readonly text: string
}

const notices = new Store<readonly Notice[]>([])
let lastId = 0

/** Says what went wrong with something that has no place of its own on the page; it stays until it is put away. */
export function notify(text: string): void {
  notices.set([...notices.value.slice(-4), { id: ++lastId, text }])
}

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
