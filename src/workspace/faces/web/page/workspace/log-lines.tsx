import type { Static } from 'typebox'
import type { logSchema } from '../../../../api/inside.ts'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { QueryView } from '../parts/query-view.tsx'
import { Button } from '../parts/button.tsx'
import { Card } from '../parts/card.tsx'
import { useQuery } from '../parts/use-query.ts'
import { texts } from '../texts.ts'

const LINES = 200

/** The last lines of the container's log or the virtual machine's console. */
export function LogLines({ name }: { readonly name: string }) {
  const path = `/api/workspaces/${encodeURIComponent(name)}/logs?lines=${LINES}`
  const query = useQuery<Static<typeof logSchema>>(path)
  const block = useRef<HTMLPreElement>(null)
  // Scroll to the last lines.
  useLayoutEffect(() => block.current?.scrollTo(0, block.current.scrollHeight), [query.value])
  return (
    <Card
      title={texts.logs.title}
      name="logs"
      isWide
      actions={<Button icon="refresh" label={texts.logs.reload} onClick={query.reload} />}
    >
      <QueryView query={query}>
        {({ lines }) =>
          lines.length === 0 ? (
            <p class="faint">{texts.logs.none}</p>
          ) : (
            <pre ref={block} class="log" tabIndex={0} role="log" aria-label={texts.logs.title}>
              {lines.join('\n')}
            </pre>
          )
        }
      </QueryView>
    </Card>
  )
}
