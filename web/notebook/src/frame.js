// A frame that starts the worker of the cells. It is a sandbox: its origin is no site's, so that a cell reaches
// neither the page nor what the browser keeps for this site. By its policy it fetches nothing.
//
// The worker's address is a data: URL. WebKit starts no worker from a blob: URL in a sandbox of a page that is
// isolated.
//
// The frame is a string, not a file: its address is about:srcdoc, which works without a network. The page's own
// policy allows this one script by its digest, which vite.config.js computes.

export const SCRIPT = `addEventListener('message', ({ data, ports }) => {
  if (!data) return parent.postMessage({}, '*')
  const [code, wasm] = data
  const worker = new Worker('data:text/javascript,' + encodeURIComponent(code))
  worker.onerror = ({ message }) => parent.postMessage({ failed: message || 'it could not be started' }, '*')
  worker.postMessage(wasm, ports)
})`

/** What the frame, and the worker that it starts, may do. */
export const FRAME_POLICY = (/** @type {string} */ digest) =>
  `default-src 'none'; script-src 'unsafe-eval' '${digest}'; worker-src data:`
