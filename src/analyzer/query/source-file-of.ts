import type { Snapshot } from './snapshot.ts'

/** Returns a class's source file, relative to its source folder; null if the class file names none. */
export function sourceFileOf(snapshot: Snapshot, classId: number): string | null {
  const slice = snapshot.index.sliceOf(classId)
  const { classes, strings } = snapshot.facts(slice)
  const sourceFile = classes.sourceFile[classId - slice.firstClass] ?? -1
  const folder = snapshot.index.nameOf(classId).split('/').slice(0, -1)
  return sourceFile < 0 ? null : [...folder, strings.get(sourceFile)].join('/')
}
