import { readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const NAME = 'web.cjs'

/**
 * A web server that a test controls by files in its directory: it listens when `gate` exists, answers `/slow` when `answer`
 * exists, and exits after SIGTERM when `end` exists. With `broken` it exits at its start; one that starts with `sick` fails its
 * check. `/crash` makes it exit.
 */
const PROGRAM = `
const { createServer } = require('node:http')
const { existsSync } = require('node:fs')
const when = (file, work) => (existsSync(file) ? work() : setTimeout(when, 5, file, work))
if (existsSync('broken')) { console.error('broken'); process.exit(7) }
const isSick = existsSync('sick')
let isEnding = false
const server = createServer((asked, answer) => {
  let bytes = 0
  asked.on('data', (chunk) => (bytes += chunk.length))
  asked.on('end', () => {
    const send = () => {
      // As servers do that shut down gracefully.
      if (isEnding) answer.setHeader('connection', 'close')
      answer.end(JSON.stringify({ pid: process.pid, port: process.env.PORT, bytes }))
    }
    if (asked.url === '/crash') process.exit(9)
    else if (asked.url === '/health') { answer.statusCode = isSick ? 500 : 200; send() }
    else if (asked.url === '/slow') when('answer', send)
    else send()
  })
})
server.on('upgrade', (asked, socket, head) => {
  socket.write('HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: echo\\r\\nConnection: Upgrade\\r\\n\\r\\n')
  socket.write(head)
  socket.on('error', () => undefined)
  socket.pipe(socket)
})
process.on('SIGTERM', () => {
  isEnding = true
  when('end', () => process.exit(0))
})
console.log('begun')
when('gate', () => server.listen(Number(process.env.PORT), '127.0.0.1', () => console.log('listening')))
`

/** Writes the program to a directory, in which it must run. Returns its command, and a function that creates its files. */
export function webProgram(dir: string, files: readonly string[] = ['gate', 'answer', 'end']) {
  writeFileSync(join(dir, NAME), PROGRAM)
  const touch = (file: string): void => writeFileSync(join(dir, file), '')
  for (const file of files) touch(file)
  return { cmd: [process.execPath, NAME], touch }
}

/** Returns the process ids of the web servers that run in a directory. */
export function webProgramsIn(dir: string): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const isWeb = readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(NAME)
        return isWeb && readlinkSync(`/proc/${pid}/cwd`) === dir
      } catch {
        return false
      }
    })
    .map(Number)
}
