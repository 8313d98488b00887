import { describe } from 'vitest'

/** Describes a suite on each kind of backend. `npm test` leaves out the fake, whose suites run in `npm run test:all`. */
export function describeOn<Kind extends { readonly kind: string }>(
  kinds: readonly Kind[],
  title: string,
  suite: (kind: Kind) => void,
): void {
  for (const kind of kinds)
    describe(`${title} (${kind.kind})`, { tags: kind.kind === 'fake' ? ['long'] : [] }, () => {
      suite(kind)
    })
}
