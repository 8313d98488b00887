/** Where all routes of the specification are. */
export const API = '/api/v1'
