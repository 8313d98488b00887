import { makeDirs } from '../../lib/fs/make-dirs.ts'
import type { StoreConfig } from '../config.ts'
import { FsStore } from './fs-store.ts'
import type { Store } from './store.ts'

/** Opens the configured store. The S3 client is large and loaded on demand. */
export async function openStore(config: StoreConfig): Promise<Store> {
  if (config.type === 's3') return new (await import('./s3-store.ts')).S3Store(config)
  makeDirs(config.root)
  return new FsStore(config.root)
}
