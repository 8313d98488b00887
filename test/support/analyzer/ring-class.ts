/** JVMS §4.6: private, static and synthetic. */
const FLAGS = 0x100a

/**
 * Returns a class whose methods all have ACC_SYNTHETIC and call each other in a ring, which no compiler makes; the
 * last also calls `System.gc`.
 */
export function ringClass(name: string, count: number): Buffer {
  const u2 = (...values: readonly number[]): Buffer =>
    Buffer.from(values.flatMap((value) => [value >> 8, value & 0xff]))
  const utf8 = (text: string): Buffer => Buffer.concat([Buffer.from([1]), u2(text.length), Buffer.from(text)])
  const tagged = (tag: number, ...values: readonly number[]): Buffer =>
    Buffer.concat([Buffer.from([tag]), u2(...values)])
  const pool = [
    ...[name, 'java/lang/Object'].flatMap((text, at) => [utf8(text), tagged(7, 2 * at + 1)]),
    utf8('()V'),
    utf8('Code'),
    utf8('java/lang/System'),
    tagged(7, 7),
    utf8('gc'),
    tagged(12, 9, 5),
    tagged(10, 8, 10),
  ]
  const first = pool.length + 1
  for (let at = 0; at < count; at++)
    pool.push(utf8(`m${at}`), tagged(12, first + 3 * at, 5), tagged(10, 2, first + 3 * at + 1))
  const invoke = (reference: number): Buffer => Buffer.concat([Buffer.from([184]), u2(reference)])
  const methods = Array.from({ length: count }, (_, at) => {
    const calls = [invoke(first + 3 * ((at + 1) % count) + 2), ...(at === count - 1 ? [invoke(11)] : [])]
    const code = Buffer.concat([...calls, Buffer.from([177])])
    const attribute = Buffer.concat([u2(0, 0, 0, code.length), code, u2(0, 0)])
    return Buffer.concat([u2(FLAGS, first + 3 * at, 5, 1, 6, 0, attribute.length), attribute])
  })
  return Buffer.concat([
    u2(0xcafe, 0xbabe, 0, 52, pool.length + 1),
    ...pool,
    u2(0x0021, 2, 4, 0, 0, count),
    ...methods,
    u2(0),
  ])
}
