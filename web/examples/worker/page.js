// The page: it sends 'write' or 'stop' to the worker, and shows each word as it arrives.

const worker = new Worker(new URL('./worker.js', import.meta.url), { type: 'module' })
const [write, stop] = document.querySelectorAll('button')
const [story] = document.querySelectorAll('p')

write.onclick = () => {
  story.textContent = 'Once upon a time'
  write.disabled = true
  stop.disabled = false
  worker.postMessage('write')
}

stop.onclick = () => worker.postMessage('stop')

worker.onmessage = ({ data: { word, error, ended } }) => {
  if (!ended) return story.append(word ?? ` (${error})`)
  write.disabled = false
  stop.disabled = true
}
