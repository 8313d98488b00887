import type { Chapter } from './attack.ts'
import type { Namespaces } from './network/namespaces.ts'
import { networkChapter } from './network/chapter.ts'

/** Every chapter, in the order in which they are played. */
export function chaptersInside(namespaces: Namespaces): readonly Chapter[] {
  return [networkChapter(namespaces)]
}
