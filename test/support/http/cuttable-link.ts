import { onTestFinished } from 'vitest'
import { CuttableLink } from '../../../src/workspace/torture/cuttable-link.ts'

/** Relays a port of 127.0.0.1 until the test ends, over connections that can be cut. */
export async function cuttableLink(
  port: number,
): Promise<{ readonly url: string; readonly cut: () => void }> {
  const link = await CuttableLink.open(() => port)
  onTestFinished(() => link.close())
  return { url: `http://127.0.0.1:${link.port}`, cut: () => link.cut() }
}
