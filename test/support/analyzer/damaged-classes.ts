import { classFilesBelow, compiled } from './javac.ts'

/** The class files of the demo fixture. */
export const demoClassFiles = (): readonly Uint8Array[] => [
  ...classFilesBelow(compiled('demo', ['-g'])).values(),
]

/** Class files with up to three changed bytes; the same in every run. */
export function damagedClasses(count: number): readonly Uint8Array[] {
  const random = numbers(42)
  const whole = demoClassFiles()
  return Array.from({ length: count }, () => {
    const bytes = Uint8Array.from(whole[random(whole.length)] ?? [])
    for (let left = 1 + random(3); left > 0; left--)
      bytes[random(bytes.length)] = [0, 1, 127, 128, 255, random(256)][random(6)] ?? 0
    return bytes
  })
}

function numbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}
