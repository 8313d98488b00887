import { walkTreesAgain } from '../../../src/workspace/disk/repeated-walk.ts'

// Arguments: a path, a file for extents, the time.
const [path = '', extentsFile = '', now = ''] = process.argv.slice(2)
console.log(JSON.stringify(await walkTreesAgain([path], extentsFile, { rememberAt: new Date(now) })))
