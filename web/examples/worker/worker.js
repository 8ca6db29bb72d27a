// The worker: it writes a story, one word a message, until the page says 'stop'.

import { GPTModel, load } from 'gpt-layers'
import modelUrl from 'gpt-layers/stories/model.safetensors?url'
import words from 'gpt-layers/stories/words.json'

const beginning = ['\n', 'Once', ' upon', ' a', ' time'].map((word) => words.indexOf(word))
const loading = load().then(async () => GPTModel.fromPretrained(await fetch(modelUrl)))
let stopped = false

async function write() {
  stopped = false
  const model = await loading
  for (const { token } of model.generate(beginning, { temperature: 0.8, stopTokens: [0] })) {
    if (stopped || token === 0) return
    postMessage({ word: words[token] })
    await new Promise((resolve) => setTimeout(resolve)) // lets the worker hear 'stop'
  }
}

onmessage = ({ data }) => {
  if (data === 'stop') stopped = true
  else
    write()
      .catch(({ message }) => postMessage({ error: message }))
      .then(() => postMessage({ ended: true }))
}
