import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

interface CardProps {
  readonly title: string
  /** Controls beside the title. */
  readonly actions?: ComponentChildren
  readonly isWide?: boolean
  readonly name?: string
  readonly children: ComponentChildren
}

/** A section of a page with a heading. */
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
