const PATHS = {
  start: 'M5 3.5v9l7-4.5z',
  stop: 'M4.5 4.5h7v7h-7z',
  suspend: 'M5.5 4v8M10.5 4v8',
  fork: 'M5 4.5v7M5 8.5c0-2 6 0 6-4M3.8 3.2h2.4M3.8 12.8h2.4M9.8 3.2h2.4',
  delete: 'M3 4.5h10M6.5 4V2.5h3V4M4.5 4.5l.6 9h5.8l.6-9M6.8 7v4M9.2 7v4',
  terminal: 'M3 4.5l3.5 3.5L3 11.5M8 12h5',
  copy: 'M5.5 5.5h7v7h-7zM3.5 10.5v-7h7',
  open: 'M6.5 3.5h-3v9h9v-3M9 3.5h3.5V7M12.5 3.5L7.5 8.5',
  refresh: 'M12.8 7A5 5 0 1 0 13 9M13 3.5V7H9.5',
  close: 'M4 4l8 8M12 4l-8 8',
  add: 'M8 3v10M3 8h10',
} as const
/** Name of an icon. */
export type IconName = keyof typeof PATHS

/** A decorative icon, hidden from screen readers. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  )
}
