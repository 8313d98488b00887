import { makeDirs } from '../../lib/fs/make-dirs.ts'
import type { StoreConfig } from '../config.ts'
import { FsStore } from './fs-store.ts'
import type { Store } from './store.ts'

/** The store that the config names. The client of S3 is loaded only where it is needed: it is large. */
export async function openStore(config: StoreConfig): Promise<Store> {
  if (config.type === 's3') return new (await import('./s3-store.ts')).S3Store(config)
  makeDirs(config.root)
  return new FsStore(config.root)
}
