// What valid calls should return, computed by plain JavaScript.

export const CHECKS = {}
