/** The policy of the frame, from vite.config.js. */
declare const FRAME_POLICY: string
