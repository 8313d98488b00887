import { afterAll, beforeAll } from 'vitest'
import { S3Store } from '../../../src/content/store/s3-store.ts'
import { parallelSuite } from '../../support/content/parallel-suite.ts'
import { publishSuite } from '../../support/content/publish-suite.ts'
import { type Ceph, startCeph } from '../../support/services/ceph.ts'

let ceph: Ceph
beforeAll(async () => {
  ceph = await startCeph()
})
afterAll(() => ceph.stop())

let stores = 0
const open = async () =>
  new S3Store({
    type: 's3',
    bucket: ceph.bucket,
    prefix: `publish-${++stores}/`,
    endpoint: ceph.endpoint,
    region: 'us-east-1',
    isPathStyle: true,
    hasConditionalWrites: true,
    timeoutMs: 10_000,
  })

publishSuite('s3', open, 3)
parallelSuite('s3', open)
