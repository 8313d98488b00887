/** Progress messages of a long operation, newest last. */
export function WorkLog({ lines }: { readonly lines: readonly string[] }) {
  return (
    <div class="work-log" role="log" aria-live="polite">
      {lines.map((line, index) => (
        <div key={index}>{line}</div>
      ))}
    </div>
  )
}
