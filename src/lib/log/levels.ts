/** Log levels. Separate from the logger, so that reading a configuration does not load it. */
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
/** Formats of the log. */
export const LOG_FORMATS = ['auto', 'json', 'pretty'] as const
