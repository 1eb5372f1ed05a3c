// Connect's declarations want this name of the DOM library, which a Node project does not load.
type HeadersInit = [string, string][] | Record<string, string> | Headers;
