/** Clients' names for the path of a file, the most specific first. */
export const PATH = [
  "filePath",
  "absolutePath",
  "targetFile",
  "path",
  "filepath",
  "fileName",
  "file",
  "paths",
  "filePaths",
  "files",
];

/** Clients' names for the path of a directory or a search. */
export const PLACE = [
  "path",
  "dirPath",
  "directoryPath",
  "targetDirectory",
  "relativeWorkspacePath",
  "directory",
  "searchPath",
  "dirpath",
  "filePath",
];
