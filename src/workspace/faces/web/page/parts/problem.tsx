import type { ComponentChildren } from 'preact'

/** An error message that screen readers announce. */
export function Problem({ children }: { readonly children: ComponentChildren }) {
  return (
    <p class="problem" role="alert">
      {children}
    </p>
  )
}
