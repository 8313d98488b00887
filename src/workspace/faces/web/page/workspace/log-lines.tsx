import type { Static } from 'typebox'
import type { logSchema } from '../../../../api/inside.ts'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { Answer } from '../parts/answer.tsx'
import { Button } from '../parts/button.tsx'
import { Card } from '../parts/card.tsx'
import { useAsked } from '../parts/use-asked.ts'
import { texts } from '../texts.ts'

const LINES = 200

/** The end of what the container or the machine's console has printed. */
export function LogLines({ name }: { readonly name: string }) {
  const path = `/api/workspaces/${encodeURIComponent(name)}/logs?lines=${LINES}`
  const asked = useAsked<Static<typeof logSchema>>(path)
  const block = useRef<HTMLPreElement>(null)
  // The last lines are the ones to see.
  useLayoutEffect(() => block.current?.scrollTo(0, block.current.scrollHeight), [asked.value])
  return (
    <Card
      title={texts.logs.title}
      name="logs"
      isWide
      actions={<Button icon="refresh" label={texts.logs.reload} onClick={asked.reload} />}
    >
      <Answer asked={asked}>
        {({ lines }) =>
          lines.length === 0 ? (
            <p class="faint">{texts.logs.none}</p>
          ) : (
            <pre ref={block} class="log" tabIndex={0} role="log" aria-label={texts.logs.title}>
              {lines.join('\n')}
            </pre>
          )
        }
      </Answer>
    </Card>
  )
}
