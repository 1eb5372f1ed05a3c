/** Where `excursor run` looks whether a face is there. No path of Cursor's begins like this. */
export const FACE_HEALTH_PATH = "/.excursor/healthz";
