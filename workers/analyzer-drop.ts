import { type DropTask, dropSlices } from '../src/analyzer/scan/drop-slices.ts'

/** Takes slices out of the store; see dropSlices. */
export default function analyzerDrop(task: DropTask): Promise<void> {
  return dropSlices(task)
}
