import {
  type PreparedTree,
  type PrepareTask,
  prepareTree,
} from '../src/workspace/image/convert/prepare-tree.ts'

/** Makes an unpacked image ready to become a file system; see prepareTree. */
export default function imagePrepare(task: PrepareTask): PreparedTree {
  return prepareTree(task)
}
