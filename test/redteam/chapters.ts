import { archivesChapter } from './archives-chapter.ts'
import type { Chapter } from './attack.ts'
import { egressChapter } from './egress-chapter.ts'
import { guestChannelsChapter } from './guest-channels/chapter.ts'
import { hostilePeersChapter } from './hostile-peers-chapter.ts'
import { imagesChapter } from './images-chapter.ts'
import { networkChapter } from './network/chapter.ts'
import type { Namespaces } from './network/namespaces.ts'

/** All chapters, in order. */
export function chaptersInside(namespaces: Namespaces): readonly Chapter[] {
  return [
    networkChapter(namespaces),
    egressChapter(namespaces),
    imagesChapter(),
    archivesChapter(),
    guestChannelsChapter(),
    hostilePeersChapter(),
  ]
}
