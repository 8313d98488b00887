import type { Static } from 'typebox'
import { Type } from '../../lib/schema/type.ts'
import { PHASES } from '../timeline/phase.ts'
import type { TimelineEntry } from '../timeline/timeline-entry.ts'
import type { Explanation } from '../timeline/timeline.ts'

const entrySchema = Type.Object({
  type: Type.Enum(['phase', 'state', 'note']),
  at: Type.String({ format: 'date-time' }),
  text: Type.String({ description: 'what happened, in words' }),
  phase: Type.Optional(Type.Enum([...PHASES])),
  outcome: Type.Optional(Type.Enum(['running', 'done', 'failed'])),
  duration_ms: Type.Optional(Type.Integer({ description: 'of a phase that has ended' })),
  status: Type.Optional(Type.String({ description: 'status from then on' })),
})

/** Timeline of a workspace. */
export const timelineSchema = Type.Object({
  entries: Type.Array(entrySchema, { description: 'at most 100, oldest first' }),
})

/** Explanation of a status. */
export const explanationSchema = Type.Object(
  {
    reason: Type.String({ description: 'why it has this status' }),
    before: Type.Optional(Type.String({ description: 'what happened before' })),
    remedy: Type.String({ description: 'what to do' }),
  },
  { description: 'reason of a status other than running, and why running may be out of date' },
)

/** A timeline as clients see it. */
export type WireTimeline = Static<typeof timelineSchema>

/** Encodes a timeline. */
export function timelineToWire(entries: readonly TimelineEntry[]): WireTimeline {
  return { entries: entries.map(entryToWire) }
}

/** Encodes an explanation. */
export function explanationToWire({ reason, before, remedy }: Explanation): Static<typeof explanationSchema> {
  return { reason, ...(before !== undefined && { before: textOf(before) }), remedy }
}

function entryToWire(entry: TimelineEntry): WireTimeline['entries'][number] {
  const common = { type: entry.is, at: entry.at.toISOString(), text: textOf(entry) }
  if (entry.is === 'note') return common
  if (entry.is === 'state') return { ...common, status: entry.status }
  const { phase, outcome, durationMs } = entry
  return {
    ...common,
    phase,
    outcome,
    ...(durationMs !== undefined && { duration_ms: Math.round(durationMs) }),
  }
}

function textOf(entry: TimelineEntry): string {
  if (entry.is === 'note') return entry.text
  if (entry.is === 'state') return `${entry.status}: ${entry.reason}`
  const { phase, outcome, durationMs } = entry
  return durationMs === undefined
    ? `phase ${phase} is running`
    : `phase ${phase} ${outcome === 'done' ? 'took' : 'failed after'} ${(durationMs / 1000).toFixed(2)} s`
}
