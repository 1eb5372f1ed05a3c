import type { IncomingHttpHeaders } from "node:http";
import type { FaceModule, FaceModules } from "../../faces/shared/face-module.ts";
import type { Route } from "./route.ts";

/** What is known of a request, possibly a damaged one. */
export interface RequestHead {
  readonly url?: string | undefined;
  readonly headers: IncomingHttpHeaders;
}

/**
 * Returns a function that tells the face of a request without a route: the one that recognises its headers, else of those whose paths
 * begin like its own one that knows no headers, else the one with most of them, else the first.
 */
export function createFaceGuess(faces: FaceModules, routes: readonly Route[]): (request: RequestHead) => FaceModule {
  const paths = routes.map(({ path, face }) => ({ face, segments: segmentsOf(path) }));
  return ({ url = "", headers }) => {
    const spoken = faces.find((face) => face.isSpokenBy?.(headers));
    if (spoken) return spoken;
    const asked = segmentsOf(url.replace(/\?.*/s, ""));
    const likeness = ({ segments }: { readonly segments: readonly string[] }) => {
      const differs = segments.findIndex((segment, index) => segment !== asked[index]);
      return differs === -1 ? segments.length : differs;
    };
    const longest = Math.max(...paths.map(likeness));
    if (longest === 0) return faces[0];
    const alike = Map.groupBy(
      paths.filter((path) => likeness(path) === longest),
      ({ face }) => face,
    );
    // A face whose clients name themselves by a header would have been recognised.
    const silent = [...alike].filter(([face]) => !face.isSpokenBy);
    return (silent.length > 0 ? silent : [...alike]).reduce((a, b) => (b[1].length > a[1].length ? b : a))[0];
  };
}

const segmentsOf = (path: string): readonly string[] => path.split("/").filter((segment) => segment !== "");
