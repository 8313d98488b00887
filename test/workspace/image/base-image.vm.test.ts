import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { boot, newUpper, saidByInit } from '../../support/vm/boot.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { convertTar, converter } from '../../support/workspace/machine/tiny-image.ts'
import { baseTar } from '../../support/vm/vm-parts.ts'

/** Replaces the guest's agent: a systemd unit that reports what it sees and powers off the VM. */
function probeGuest(): string {
  const directory = join(tempDir(), 'guest')
  mkdirSync(join(directory, 'units'), { recursive: true })
  writeFileSync(
    join(directory, 'probe'),
    `#!/bin/sh
exec >/dev/console 2>&1
echo "guest: user $(id -nu 1000) $(stat -c %U /workspace)"
for program in tmux git rsync /usr/lib/openssh/sftp-server curl sudo systemctl ip; do
  command -v "$program" >/dev/null && echo "guest: has $program"
done
echo "guest: kernel $(uname -r) modules $(ls /lib/modules)"
modprobe loop && echo "guest: loads modules"
echo "guest: machine $(wc -c </etc/machine-id)"
sync
systemctl poweroff --force --force
`,
    { mode: 0o755 },
  )
  writeFileSync(
    join(directory, 'units/workspace-agent.service'),
    '[Unit]\nAfter=basic.target\n[Service]\nExecStart=/opt/workspace/probe\n[Install]\nWantedBy=multi-user.target\n',
  )
  return directory
}

test('the base image boots with systemd, its own kernel, its user and the tools workspaces need', async () => {
  const parts = await converter({
    guestDir: probeGuest(),
    kernel: { file: '/no/such/kernel', modules: undefined },
  })
  const { manifest } = await convertTar(parts, baseTar)
  const image = await parts.store.resolve(manifest.digest)
  const console = await boot(image, newUpper(5), {
    words: 'workspace.format=1 systemd.show_status=false',
    memoryMb: 768,
  })
  expect(saidByInit(console).at(-1)).toBe('workspace-init: ready')
  const said = console.flatMap((line) => /guest: .*/.exec(line)?.[0] ?? [])
  expect(said).toEqual([
    'guest: user workspace workspace',
    ...['tmux', 'git', 'rsync', '/usr/lib/openssh/sftp-server', 'curl', 'sudo', 'systemctl', 'ip'].map(
      (name) => `guest: has ${name}`,
    ),
    `guest: kernel ${manifest.kernelVersion} modules ${manifest.kernelVersion}`,
    'guest: loads modules',
    'guest: machine 33',
  ])
})
