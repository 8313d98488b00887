import { expect, test } from 'vitest'
import { MachineDisk } from '../../../support/workspace/disk/machine-disk.ts'
import { call } from '../../../support/workspace/server/test-server.ts'

test.each(['', 'an earlier reason'])(
  'a start that fails shows its own reason afterwards (before it: %j)',
  async (failure) => {
    const disk = new MachineDisk()
    disk.machine('demo', { failure })
    const server = await disk.serve()
    const at = `${server.url}/api/workspaces/demo`
    const { status, body } = await call(`${at}/start`, 'POST')
    expect([status, body.error.code]).toEqual([404, 'IMAGE_NOT_FOUND'])
    const shown = (await call(at)).body
    expect(shown.status).toBe('error')
    expect(shown.error_message).toBe(body.error.message)
  },
)
