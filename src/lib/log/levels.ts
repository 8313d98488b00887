/** What a log may be told to hold. Apart from the logger, so that reading a config does not load it. */
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export const LOG_FORMATS = ['auto', 'json', 'pretty'] as const
