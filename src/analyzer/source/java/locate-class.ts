import type { Snapshot } from '../../query/snapshot.ts'
import type { ClassStep } from './class-step.ts'

/** Location of a class in source: the file named in its class file, and the path to it from there. */
export interface ClassLocation {
  /** Internal name of the outermost class. */
  readonly outermost: string
  /** "Map.java" as in the class file; undefined if missing. */
  readonly sourceFile: string | undefined
  readonly steps: readonly ClassStep[]
}

/** No compiler produces deeper nesting. */
const MAX_DEPTH = 64

/** Locates a class by reading InnerClasses and EnclosingMethod outwards. */
export function locateClass(snapshot: Snapshot, id: number): ClassLocation {
  const steps: ClassStep[] = []
  let at = id
  let sourceFile: string | undefined
  for (let depth = 0; depth < MAX_DEPTH; depth++) {
    const { step, around, file } = readStep(snapshot, at)
    steps.unshift(step)
    sourceFile ??= file
    const next = around === undefined ? undefined : snapshot.index.find(around)
    if (next === undefined || next === at) break
    at = next
  }
  return { outermost: snapshot.index.nameOf(at), sourceFile, steps }
}

function readStep(snapshot: Snapshot, id: number) {
  const slice = snapshot.index.sliceOf(id)
  const facts = snapshot.facts(slice)
  const { classes, methods, strings } = facts
  const row = id - slice.firstClass
  const text = (place: number | undefined): string | undefined =>
    place === undefined || place < 0 ? undefined : strings.get(place)
  const binary = snapshot.index.nameOf(id)
  const around = text(classes.outerClass[row]) ?? text(classes.enclosingClass[row])
  const isMember = text(classes.outerClass[row]) !== undefined
  const innerName = text(classes.innerName[row])
  const lines = Array.from(
    { length: (classes.firstMethod[row + 1] ?? 0) - (classes.firstMethod[row] ?? 0) },
    (_, place) => (classes.firstMethod[row] ?? 0) + place,
  ).flatMap((method) => [methods.firstLine[method] ?? -1, methods.lastLine[method] ?? -1])
  const known = lines.filter((line) => line > 0)
  const step: ClassStep = {
    is: around === undefined ? 'top' : isMember ? 'member' : innerName === undefined ? 'anonymous' : 'local',
    name: around === undefined ? binary.slice(binary.lastIndexOf('/') + 1) : (innerName ?? ''),
    ordinal: around === undefined ? 1 : ordinalOf(binary.slice(around.length + 1)),
    firstLine: known.length === 0 ? 0 : Math.min(...known),
    lastLine: known.length === 0 ? 0 : Math.max(...known),
  }
  return { step, around, file: text(classes.sourceFile[row]) }
}

/** Returns the number at the start of a binary name's last part: 2 of "2Local". */
function ordinalOf(part: string): number {
  return Number.parseInt(part, 10) || 1
}
