// Only the bench installs this package. With this line, tsc checks the tests without it, too.
declare module '@jax-js/jax'
