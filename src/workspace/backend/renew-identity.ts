import { fault } from '../errors.ts'
import type { ExecProcess } from './backend.ts'
import { followProgram, hangUpOnAbort } from './follow-program.ts'

const TIMEOUT_MS = 60_000

/**
 * Replaces host keys of an SSH server, which restarts if it is running, and with `$1` the machine id of a container. A key
 * that cannot be created is removed all the same.
 */
const RENEW = `
if [ "$1" = machine-id ] && [ -s /etc/machine-id ]; then
  id=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \\n')
  [ "\${#id}" = 32 ] && printf '%s\\n' "$id" >/etc/machine-id || exit
fi
set -- /etc/ssh/ssh_host_*_key
[ -e "$1" ] || exit 0
for key; do
  type=\${key#/etc/ssh/ssh_host_}
  rm -f -- "$key" "$key.pub" || exit
  ssh-keygen -q -t "\${type%_key}" -N '' -f "$key" </dev/null >/dev/null 2>&1
done
[ -d /run/systemd/system ] && systemctl try-restart ssh.service sshd.service >/dev/null 2>&1
exit 0`

/**
 * Gives a fork an identity that differs from its source's, inside and as root: the workspace is untrusted, and so are its programs.
 *
 * @param hasMachineId whether its machine id comes from elsewhere
 * @throws BACKEND_ERROR when that fails or takes too long
 */
export async function renewIdentity(
  name: string,
  hasMachineId: boolean,
  run: (argv: readonly string[]) => Promise<ExecProcess>,
  signal: AbortSignal,
): Promise<void> {
  const process = await run(['/bin/sh', '-c', RENEW, 'sh', hasMachineId ? '' : 'machine-id'])
  const giveUp = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)])
  const forget = hangUpOnAbort(giveUp, process)
  try {
    const lines = await followProgram(process, () => undefined)
    const { status } = await process.exitStatus
    if (status !== 0)
      throw fault(
        'BACKEND_ERROR',
        `the identity of workspace "${name}" cannot be renewed: ${lines.at(-1) ?? `the script exited with status ${status}`}`,
      )
  } catch (error) {
    signal.throwIfAborted()
    if (giveUp.aborted)
      throw fault('BACKEND_ERROR', `renewing the identity of workspace "${name}" took too long`, error)
    throw error
  } finally {
    forget()
  }
}
