import { afterAll, beforeAll, expect, test } from 'vitest'
import { run } from '../../../../src/lib/process/run.ts'
import { type DockerSsh, dockerSsh } from '../../../support/workspace/ssh/docker-ssh.ts'
import { rounds } from '../../../support/rounds.ts'

const MIB = rounds(64, 4_096)
/** Numbered blocks, so that a lost, duplicated or reordered block changes the hash. */
const BLOCKS = `perl -e 'srand 1; my $rest = join "", map chr rand 256, 9 .. 65536; print pack("Q", $_), $rest for 1 .. ${MIB * 16}'`
const HASH = 'sha256sum'

let workspace: DockerSsh

beforeAll(async () => {
  workspace = await dockerSsh()
})
afterAll(() => workspace.remove())

test(
  `${MIB} MiB survive eight rekeys in each direction without losing a byte`,
  { timeout: 600_000 },
  async () => {
    const flags = ['-v', '-o', `RekeyLimit=${MIB / 8}M`]
    const ssh = ['ssh', ...workspace.ssh.argv(workspace.name, ...flags)].join(' ')
    const shell = async (line: string) => {
      const { status, stdout, stderr } = await run('bash', ['-c', `set -o pipefail; ${line}`])
      return { status, hash: stdout.trim(), keyChanges: stderr.split('SSH2_MSG_NEWKEYS sent').length - 2 }
    }
    const { hash } = await shell(`${BLOCKS} | ${HASH}`)
    const quoted = `'${BLOCKS.replaceAll("'", String.raw`'\''`)}'`
    for (const transfer of [`${ssh} ${quoted} | ${HASH}`, `${BLOCKS} | ${ssh} ${HASH}`]) {
      const done = await shell(transfer)
      expect(done).toEqual({ status: 0, hash, keyChanges: expect.any(Number) })
      expect(done.keyChanges).toBeGreaterThanOrEqual(7)
    }
  },
)
