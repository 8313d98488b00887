import childProcess from 'node:child_process'
import dgram from 'node:dgram'
import { syncBuiltinESMExports } from 'node:module'
import net from 'node:net'

/**
 * Setup of the unit tests, which start no process and open no socket (`NAME.unit.test.ts`). Any attempt to do so throws, no
 * matter how deep in the code under test.
 */

function refuse(what: string): () => never {
  return () => {
    throw new Error(`a unit test ${what}: take ".unit" out of the name of its file`)
  }
}

const start = refuse('started a process')
Object.assign(childProcess.ChildProcess.prototype, { spawn: start })
for (const name of ['spawnSync', 'execSync', 'execFileSync'] as const) childProcess[name] = start
net.Server.prototype.listen = refuse('started a server')
net.Socket.prototype.connect = refuse('opened a connection')
dgram.Socket.prototype.bind = refuse('opened a socket')
syncBuiltinESMExports()
