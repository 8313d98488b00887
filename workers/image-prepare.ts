import {
  type PreparedTree,
  type PrepareTask,
  prepareTree,
} from '../src/workspace/image/convert/prepare-tree.ts'

/** Prepares an unpacked image for conversion to a file system; see prepareTree. */
export default function imagePrepare(task: PrepareTask): PreparedTree {
  return prepareTree(task)
}
