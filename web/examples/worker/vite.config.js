// Only load({ threads }) needs the headers: they isolate the page, so that it may share memory.
const headers = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
}

export default {
  worker: { format: 'es' }, // gpt-layers imports the one build that the machine can run
  server: { headers },
  preview: { headers },
}
