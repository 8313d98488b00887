import { testFolders } from '../support/hostile/folder-suite.ts'
import { HOSTILE_FOLDERS } from '../support/hostile/hostile-folders.ts'

// Those that test/scenarios/untrusted-folder.long.test.ts leaves out.
testFolders(HOSTILE_FOLDERS.filter((_, at) => at % 5 !== 0))
