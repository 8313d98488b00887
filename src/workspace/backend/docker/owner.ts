import { stat } from 'node:fs/promises'
import type { ContainerInspectInfo } from 'dockerode'
import { WORKSPACE_DIR } from '../../workspace.ts'
import type { ExecProcess } from '../backend.ts'

type RunAsRoot = (argv: readonly string[]) => Promise<ExecProcess>

/**
 * Who a workspace on a host directory runs as: root for root's directories, whose files nobody else could write, and
 * otherwise the image's own user, whom `prepareOwner` gives the owner's number.
 */
export async function userFor(localDir: string): Promise<string | undefined> {
  return (await stat(localDir)).uid === 0 ? '0:0' : undefined
}

/** Makes the workspace's user able to write its files: owner of a new volume, or same numbers as the host's owner. */
export async function prepareOwner(
  report: ContainerInspectInfo,
  localDir: string,
  run: RunAsRoot,
): Promise<void> {
  const { User: user, Labels: labels } = report.Config
  if (user === '' || /^(?:root|0)(?::|$)/.test(user)) return
  if (localDir !== '') {
    const { uid, gid } = await stat(localDir)
    return finish(
      await run(['/bin/sh', '-c', TAKE_NUMBERS, 'sh', user.split(':')[0] ?? user, String(uid), String(gid)]),
    )
  }
  // Our own image has the directory, and a volume begins as a copy of it; of another it belongs to root.
  if (labels['workspace.image'] !== 'base') await finish(await run(['chown', user, WORKSPACE_DIR]))
}

/** Edits the files: usermod refuses while a process of the user runs, and the container's own does. */
const TAKE_NUMBERS = `
user=$1 uid=$2 gid=$3
[ "$(id -u "$user")" = "$uid" ] && exit
group=$(id -gn "$user") home=$(eval echo ~"$user")
sed -i "s/^\\($group:[^:]*\\):[0-9]*:/\\1:$gid:/" /etc/group &&
  sed -i "s/^\\($user:[^:]*\\):[0-9]*:[0-9]*:/\\1:$uid:$gid:/" /etc/passwd &&
  chown -R "$uid:$gid" "$home"`

async function finish(process: ExecProcess): Promise<void> {
  process.stdout.resume()
  process.stderr.resume()
  await process.exitStatus
}
