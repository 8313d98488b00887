import { afterAll } from 'vitest'
import { makeTempDir } from './temp-dir.ts'

/** Setup of each file: records of servers are its own, separate from a user's and those of other files. */
const home = makeTempDir()
process.env['XDG_RUNTIME_DIR'] = home.path
afterAll(home.remove)
