import { describe } from 'vitest'

/** Describes a suite on each kind of backend. `npm test` leaves out the fake and long ones, which `npm run test:all` runs. */
export function describeOn<Kind extends { readonly kind: string; readonly isLong?: boolean }>(
  kinds: readonly Kind[],
  title: string,
  suite: (kind: Kind) => void,
): void {
  for (const kind of kinds)
    describe(
      `${title} (${kind.kind})`,
      { tags: kind.kind === 'fake' || kind.isLong === true ? ['long'] : [] },
      () => {
        suite(kind)
      },
    )
}
