import { spawn } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openDestination } from '../../../src/supervisor/shipping/open-destination.ts'
import { versionOf } from '../../support/foreign/clients.ts'
import { freePort } from '../../support/services/free-port.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { waitFor } from '../../support/wait-for.ts'

const RSYSLOGD = '/usr/sbin/rsyslogd'
const HOST = '127.0.0.1'
const TEXTS = ['ready ✓', '<13>not a header', '12 digits', '[web] "quoted" \\', 'x'.repeat(1_500)]

/** A running rsyslogd and what it has written: severity, host, program and text of each message. */
interface Rsyslog {
  readonly socket: string
  readonly port: number
  readonly messages: () => readonly (readonly string[])[]
}

async function startRsyslog(): Promise<Rsyslog> {
  const dir = tempDir()
  const [socket, out] = [join(dir, 'log'), join(dir, 'out')]
  const port = await freePort()
  writeFileSync(
    join(dir, 'rsyslog.conf'),
    `global(workDirectory="${dir}")
module(load="imuxsock" SysSock.Use="off")
module(load="imtcp")
module(load="imudp")
input(type="imuxsock" Socket="${socket}")
input(type="imtcp" port="${port}" address="${HOST}")
input(type="imudp" port="${port}" address="${HOST}")
template(name="line" type="string" string="%syslogseverity-text%\\t%hostname%\\t%programname%\\t%msg%\\n")
action(type="omfile" file="${out}" template="line")
`,
  )
  const child = spawn(RSYSLOGD, ['-n', '-f', join(dir, 'rsyslog.conf'), '-i', join(dir, 'pid')])
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text))
  onTestFinished(() => void child.kill('SIGKILL'))
  await waitFor('rsyslogd', () => {
    if (child.exitCode !== null) throw new Error(`rsyslogd ended: ${errors}`)
    return existsSync(socket) && existsSync(join(dir, 'pid'))
  })
  const messages = () =>
    (existsSync(out) ? readFileSync(out, 'utf8') : '')
      .split('\n')
      .slice(0, -1)
      // It keeps the space before the text of a message in its own format.
      .map((line) => line.split('\t').map((part) => part.replace(/^ /, '')))
  return { socket, port, messages }
}

describe(`rsyslog ${versionOf([RSYSLOGD, '-v'])}`, () => {
  test.each(['tcp', 'udp', 'unix'] as const)('reads lines sent over %s', async (transport) => {
    const rsyslog = await startRsyslog()
    const place =
      transport === 'unix' ? { host: rsyslog.socket, port: 0 } : { host: HOST, port: rsyslog.port }
    const { send, close } = openDestination({ kind: 'syslog', transport, ...place })
    onTestFinished(close)
    const lines = TEXTS.flatMap((text, sequence) =>
      (['stdout', 'stderr'] as const).map(
        (stream) =>
          ({ sequence, timeMs: 1_769_860_800_123, process: 'web', stream, text, isCut: false }) as const,
      ),
    )
    expect(await send(lines, new AbortController().signal)).toBe(0)
    await waitFor('all lines', () => rsyslog.messages().length >= lines.length)
    const [host] = hostname().split('.')
    expect(rsyslog.messages()).toEqual(
      lines.map(({ stream, text }) => [
        stream === 'stdout' ? 'info' : 'err',
        expect.stringMatching(new RegExp(`^(${host}|localhost)`)),
        'web',
        text,
      ]),
    )
  })
})
