using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [(name = "main", worker = .app)],
  sockets = [(name = "http", address = "127.0.0.1:PORT", http = (), service = "main")],
);

const app :Workerd.Worker = (
  compatibilityDate = "2026-01-01",
  modules = [
    (name = "worker.js", esModule = embed "dist/worker.js"),
    (name = "wasm/simd.wasm", wasm = embed "node_modules/gpt-layers/dist/wasm/simd.wasm"),
  ],
);
