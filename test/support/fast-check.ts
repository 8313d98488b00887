import * as fc from 'fast-check'
import { SEED } from './seed.ts'

fc.configureGlobal({ seed: SEED })

/** fast-check, whose properties get the same input in each run (see `SEED`). */
export { fc }
