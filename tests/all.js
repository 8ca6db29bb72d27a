/**
 * Whether `./build.sh test all` runs. Without `all`, each promise is tested once: on one build of the
 * kernels, on one thread, and in Chromium.
 */
export const all = process.env.GPT_LAYERS_TEST === 'all'
