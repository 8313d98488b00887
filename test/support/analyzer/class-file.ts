/** Creates a class file by hand, which no compiler would produce. Names are internal. */
export function classFile(
  name: string,
  {
    superName = 'java/lang/Object',
    interfaces = [],
    isInterface = false,
  }: {
    readonly superName?: string | undefined
    readonly interfaces?: readonly string[]
    readonly isInterface?: boolean
  } = {},
): Buffer {
  const names = [name, superName, ...interfaces]
  const pool = names.flatMap((text, at) => {
    const bytes = Buffer.from(text)
    return [Buffer.from([1, bytes.length >> 8, bytes.length & 0xff]), bytes, Buffer.from([7, 0, 2 * at + 1])]
  })
  const u2 = (...values: readonly number[]): Buffer =>
    Buffer.from(values.flatMap((value) => [value >> 8, value & 0xff]))
  return Buffer.concat([
    u2(0xcafe, 0xbabe, 0, 52, 2 * names.length + 1),
    ...pool,
    u2(isInterface ? 0x0601 : 0x0021, 2, 4, interfaces.length, ...interfaces.map((_, at) => 2 * (at + 3))),
    u2(0, 0, 0),
  ])
}
