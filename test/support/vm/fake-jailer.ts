// Replaces Firecracker's jailer on machines without Firecracker: accepts exactly its documented
// arguments, checks that the jail contains what its user will need, creates what the jailer creates, and
// becomes the stand-in of Firecracker. Run as a program. Source: Firecracker's docs/jailer.md.
import { chmodSync, chownSync, copyFileSync, existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'

const end = process.argv.indexOf('--')
const { values } = parseArgs({
  args: process.argv.slice(2, end),
  options: {
    id: { type: 'string' },
    'exec-file': { type: 'string' },
    uid: { type: 'string' },
    gid: { type: 'string' },
    'chroot-base-dir': { type: 'string' },
    'resource-limit': { type: 'string', multiple: true },
  },
})
const { id = '', 'exec-file': execFile = '', 'chroot-base-dir': base = '/srv/jailer' } = values
const [uid, gid] = [Number(values.uid), Number(values.gid)]
refuse(!/^[a-zA-Z0-9-]{1,64}$/.test(id), 'id')
refuse(!basename(execFile).includes('firecracker') || !statSync(execFile).isFile(), 'exec-file')
refuse(!Number.isInteger(uid) || !Number.isInteger(gid), 'uid and gid')

const root = join(base, basename(execFile), id, 'root')
for (const folder of ['', 'dev', 'dev/net', 'run']) {
  mkdirSync(join(root, folder), { recursive: true })
  chmodSync(join(root, folder), 0o700)
  chownSync(join(root, folder), uid, gid)
}
copyFileSync(execFile, join(root, basename(execFile)))
for (const device of ['dev/kvm', 'dev/net/tun']) {
  // mknod(2) fails when the node exists.
  refuse(existsSync(join(root, device)), device)
  writeFileSync(join(root, device), '')
}
for (const [name, own] of [
  ['kernel', 0o4],
  ['initrd', 0o4],
  ['lower.ext4', 0o4],
  ['upper.ext4', 0o600],
] as const) {
  const stat = statSync(join(root, name))
  const may = own === 0o4 ? stat.mode & 0o4 : stat.uid === uid && (stat.mode & own) === own
  refuse(!may, `${name} for user ${uid}`)
}

process.env['FAKE_JAIL'] = root
process.argv.splice(
  2,
  process.argv.length,
  '--id',
  id,
  '--start-time-us',
  '0',
  ...process.argv.slice(end + 1),
)
await import('./fake-firecracker.ts')

function refuse(isWrong: boolean, what: string): void {
  if (!isWrong) return
  console.error(`jailer: ${what} is not right`)
  process.exit(1)
}
