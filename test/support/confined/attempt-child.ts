import { attempt, type Targets } from './attempts.ts'

// Replaces the decompiler's module and makes the attempts sent to it.
process.on('message', (task: { readonly name: string; readonly targets: Targets }) => {
  const report = (message: object): void => void process.send?.(message)
  attempt(task.name, task.targets).then(
    (reached) => report({ reached }),
    (error: unknown) => report({ refused: error instanceof Error ? error.message : String(error) }),
  )
})
process.on('disconnect', () => process.exit())
