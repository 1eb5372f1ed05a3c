/** What clients call the path of a file, the most telling first. */
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

/** What they call the path of a directory, or of where to search. */
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
