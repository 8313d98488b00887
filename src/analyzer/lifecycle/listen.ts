import { randomInt } from 'node:crypto'
import { fault } from '../errors.ts'

/**
 * Listens on the first free port of a range, starting at a random offset so that servers started at the same
 * time do not all try the same port.
 *
 * @throws NO_FREE_PORT when all ports are in use
 */
export async function listenInRange(
  range: { readonly start: number; readonly end: number },
  listen: (port: number) => Promise<number>,
): Promise<number> {
  const count = range.end - range.start + 1
  if (count < 1) throw fault('NO_FREE_PORT', `the port range ${range.start} to ${range.end} is empty`)
  const offset = randomInt(count)
  for (let tried = 0; tried < count; tried++) {
    try {
      return await listen(range.start + ((offset + tried) % count))
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code !== 'EADDRINUSE' && code !== 'EACCES') throw error
    }
  }
  throw fault('NO_FREE_PORT', `every port from ${range.start} to ${range.end} is in use`)
}
