import { type DropTask, dropSlices } from '../src/analyzer/scan/drop-slices.ts'

/** Deletes slices from the store; see dropSlices. */
export default function analyzerDrop(task: DropTask): Promise<void> {
  return dropSlices(task)
}
