import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

interface CardProps {
  readonly title: string
  /** What can be done with all of it, beside the title. */
  readonly actions?: ComponentChildren
  readonly isWide?: boolean
  readonly name?: string
  readonly children: ComponentChildren
}

/** A part of a page with a heading of its own. */
export function Card({ title, actions, isWide = false, name, children }: CardProps) {
  const id = useId()
  return (
    <section class={isWide ? 'card wide' : 'card'} aria-labelledby={id} data-card={name}>
      <header class="card-head">
        <h2 id={id}>{title}</h2>
        <div class="actions">{actions}</div>
      </header>
      {children}
    </section>
  )
}
