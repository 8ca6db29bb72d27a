// The types of the tests are checked where only the bench installs this package, too: it has no types there.
declare module 'onnxruntime-web'
