import type { ComponentChildren } from 'preact'
import { texts } from '../texts.ts'
import type { Asked } from './use-asked.ts'

interface AnswerProps<T> {
  readonly asked: Asked<T>
  readonly children: (value: T) => ComponentChildren
}

/** What became of a question: its answer, or why there is none, or that it is on its way. */
export function Answer<T>({ asked, children }: AnswerProps<T>) {
  return (
    <>
      {asked.error !== undefined && (
        <p class="problem" role="alert">
          {asked.error}
        </p>
      )}
      {asked.value !== undefined && children(asked.value)}
      {asked.value === undefined && asked.error === undefined && <p class="faint">{texts.loading}</p>}
    </>
  )
}
